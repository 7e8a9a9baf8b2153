import type { RunLogSink } from "../../containers/guest/run-log.ts";
import type { Problem } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import { redactionOf } from "./redactions.ts";

/** Writes what a run says beside its answer to the log. It outlives its request, and so has nothing of it but names. */
export class LogFileSink implements RunLogSink {
  readonly #log: Log;
  readonly #counts: RunCounts;
  readonly #names: RunNames;
  readonly #secrets: RunSecrets | null;
  #failed = false;

  /** @param secrets what is redacted in all that it writes. */
  constructor(log: Log, counts: RunCounts, names: RunNames, secrets: RunSecrets | null) {
    this.#log = log;
    this.#counts = counts;
    this.#names = names;
    this.#secrets = secrets;
  }

  log(level: number, text: Buffer): void {
    const { run, container } = this.#names;
    const secrets = this.#secrets;
    // Redacted only where it is written: most services do not log what tasks print.
    this.#log.task(run, container, level, () => {
      return secrets ? redactionOf(secrets).text(text.toString()) : text.toString();
    });
  }

  lateError(problem: Problem): void {
    this.#counts.failedUnheard++;
    const { run, container, jti } = this.#names;
    this.#log.lateError(
      run,
      container,
      jti,
      this.#secrets ? redactionOf(this.#secrets).problem(problem) : problem,
      this.#failed,
    );
    this.#failed = true;
  }
}

interface RunNames {
  readonly run: string;
  readonly container: string;
  readonly jti: string;
}
