import type { RunWitness } from "../containers/run-log.ts";
import type { Problem } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { RunCounts } from "../telemetry/run-counts.ts";
import type { Redaction } from "./redact.ts";

/** Writes what a run says beside its answer to the log. It outlives its request, and so has nothing of it but names. */
export class LoggingWitness implements RunWitness {
  readonly #log: Log;
  readonly #counts: RunCounts;
  readonly #names: RunNames;
  readonly #told: Redaction | null;
  #failed = false;

  /** @param told what is to be taken out of all that it says. */
  constructor(log: Log, counts: RunCounts, names: RunNames, told: Redaction | null) {
    this.#log = log;
    this.#counts = counts;
    this.#names = names;
    this.#told = told;
  }

  log(level: number, text: Buffer): void {
    const { run, container } = this.#names;
    this.#log.task(run, container, level, this.#told?.bytes(text) ?? text);
  }

  unheard(problem: Problem): void {
    this.#counts.failedUnheard++;
    const { run, container, jti } = this.#names;
    this.#log.unheard(run, container, jti, this.#told?.problem(problem) ?? problem, this.#failed);
    this.#failed = true;
  }
}

interface RunNames {
  readonly run: string;
  readonly container: string;
  readonly jti: string;
}
