import type { RunWitness } from "../containers/run-log.ts";
import type { Problem } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { RunCounts } from "../telemetry/run-counts.ts";

/** Writes what a run says beside its answer to the log. It outlives its request, and so has nothing of it but names. */
export class LoggingWitness implements RunWitness {
  readonly #log: Log;
  readonly #counts: RunCounts;
  readonly #run: string;
  readonly #container: string;
  readonly #jti: string;
  #failed = false;

  constructor(log: Log, counts: RunCounts, run: string, container: string, jti: string) {
    this.#log = log;
    this.#counts = counts;
    this.#run = run;
    this.#container = container;
    this.#jti = jti;
  }

  log(level: number, text: Buffer): void {
    this.#log.task(this.#run, this.#container, level, text);
  }

  unheard(problem: Problem): void {
    this.#counts.failedUnheard++;
    this.#log.unheard(this.#run, this.#container, this.#jti, problem, this.#failed);
    this.#failed = true;
  }
}
