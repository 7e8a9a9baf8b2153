import type { RunLogSink } from "../../containers/guest/run-log.ts";
import type { Problem } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RunCounts } from "../../telemetry/run-counts.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import { redactionOf } from "./redactions.ts";

/**
 * Writes the output and the late errors of a run to the log. It outlives the request, so it keeps only names from it.
 */
export class LogFileSink implements RunLogSink {
  readonly #log: Log;
  readonly #counts: RunCounts;
  readonly #names: RunNames;
  readonly #secrets: RunSecrets | null;
  #failed = false;

  /** @param secrets the secrets that are redacted in all written texts */
  constructor(log: Log, counts: RunCounts, names: RunNames, secrets: RunSecrets | null) {
    this.#log = log;
    this.#counts = counts;
    this.#names = names;
    this.#secrets = secrets;
  }

  log(level: number, text: Buffer): void {
    const { run, container } = this.#names;
    const secrets = this.#secrets;
    // The text is redacted only if it is written, because most services do not log the output of tasks.
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
