import type { EgressUse } from "../../egress/budgets.ts";
import type { Refusal } from "../../egress/faults.ts";
import type { Problem } from "../../errors.ts";
import type { Log, RunNames } from "../../telemetry/log.ts";
import type { RunSecrets } from "../../tokens/secrets/vault.ts";
import { type HeadMessage, LOG_LEVELS } from "../../wire/messages.ts";
import { CLIENT_LEFT } from "./client-left.ts";
import type { RunObserver } from "./execution.ts";
import { LogFileSink } from "./log-sink.ts";
import { redactionOf } from "./redactions.ts";
import { allowedHeaders } from "./response-headers.ts";
import { isPublic, namesOf, type RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { RunTrace } from "./run-trace.ts";

const JSON_TYPE = "application/json";
const WARN = LOG_LEVELS.indexOf("warn");

/**
 * Logs a run and fills its trace, without the secrets of the run. It outlives the request, so it keeps only names from it. A
 * class, because the closures of an object would be created for each run.
 */
export class ObservedRun implements RunObserver {
  readonly logSink: LogFileSink;
  readonly #log: Log;
  readonly #family: string;
  readonly #names: RunNames;
  readonly #client: string;
  readonly #secrets: RunSecrets | null;
  readonly #trace: RunTrace;
  readonly #isTaskPublic: boolean;
  readonly #over: () => void;
  #type = JSON_TYPE;

  /** @param over is called once, when the guest is done with the run. */
  constructor(
    call: RunCall,
    trace: RunTrace,
    { log, proxies, runCounts, records }: Pick<RunDependencies, "log" | "proxies" | "runCounts" | "records">,
    over: () => void,
  ) {
    const { request, secrets, recorded } = call;
    const names = namesOf(call);
    this.#log = log;
    this.#family = call.memory.name;
    this.#names = names;
    this.#client = proxies.clientOf(request);
    this.#secrets = secrets;
    this.#trace = trace;
    this.#isTaskPublic = isPublic(call);
    this.#over = over;
    this.logSink = new LogFileSink(
      { log, counts: runCounts, records, family: this.#family, names, secrets },
      { trace, recorded },
    );
  }

  over(): void {
    // Neither an answer nor an error: the client has left.
    if (this.#trace.status === "running") this.#trace.failed(CLIENT_LEFT);
    this.#over();
    this.logSink.end();
  }

  responded({ status, headers }: HeadMessage, isOfHandler: boolean): void {
    const secrets = this.#secrets;
    const allowed = allowedHeaders(headers, isOfHandler && this.#isTaskPublic);
    const shown = secrets ? allowed.map((text) => redactionOf(secrets).text(text)) : allowed;
    this.#type = contentTypeOf(shown);
    this.#trace.responded(status, shown);
  }

  hinted(hint: string): string {
    // A hint names members of the result, and a secret may be the name of one.
    const shown = this.#secrets ? redactionOf(this.#secrets).text(hint) : hint;
    this.#trace.hinted(shown);
    this.#log.task(this.#names, WARN, () => shown);
    return shown;
  }

  succeeded(): void {
    this.#trace.succeeded(this.#type);
  }

  failed(problem: Problem, isCut: boolean): void {
    const error = this.#secrets ? redactionOf(this.#secrets).problem(problem) : problem;
    this.#trace.failed(error);
    if (isCut) this.#log.run(this.#family, this.#names, this.#client, error);
  }

  refused(refusal: Refusal): void {
    this.#log.refused(this.#names, this.#secrets ? redactionOf(this.#secrets).value(refusal) : refusal);
  }

  usesEgress(use: EgressUse): void {
    this.#trace.egress = use;
  }
}

function contentTypeOf(headers: readonly string[]): string {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === "content-type");
  return at < 0 ? "application/octet-stream" : headers[at + 1]!;
}
