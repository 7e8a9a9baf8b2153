import type {
  AnsweredRunRecord,
  AuditPage,
  CheckRequest,
  CodeCheck,
  FailureGroups,
  Health,
  Routes,
  System,
  Usage,
} from "./api-types.ts";
import { HintNotice } from "./hint-notice.ts";
import { List } from "./list.ts";
import { mustBeObject } from "./options.ts";
import { nameOthers } from "./other-methods.ts";
import { Containers } from "./resources/containers.ts";
import { Limits } from "./resources/limits.ts";
import { Packages } from "./resources/packages.ts";
import { Runs } from "./resources/runs.ts";
import { Tasks } from "./resources/tasks.ts";
import { Tokens } from "./resources/tokens.ts";
import { valueOf } from "./result.ts";
import { type RecordOptions, type RunOptions, runOptions, runRequest, type Source } from "./run-request.ts";
import { type RunEvent, streamRun } from "./stream.ts";
import { withTaskHint } from "./task-hint.ts";
import { type CaissonOptions, type RequestOptions, Transport } from "./transport.ts";

/** The counts of `usage` as CSV (RFC 4180). */
export interface UsageCsv extends Pick<Usage, "truncated" | "nodes"> {
  readonly csv: string;
}

/** A client of one caisson service. */
export class Caisson {
  readonly tasks: Tasks;
  readonly tokens: Tokens;
  readonly limits: Limits;
  readonly containers: Containers;
  readonly runs: Runs;
  readonly packages: Packages;
  readonly #transport: Transport;
  readonly #notice: HintNotice;

  constructor(options: CaissonOptions) {
    const transport = new Transport(options);
    this.#notice = new HintNotice(options.onHint);
    this.#transport = transport;
    this.tasks = new Tasks(transport);
    this.tokens = new Tokens(transport);
    this.limits = new Limits(transport);
    this.containers = new Containers(transport);
    this.runs = new Runs(transport);
    this.packages = new Packages(transport);
  }

  /**
   * Runs code, or a named task, and returns what it returned: a JSON value as it is, and anything else (a `Response`, bytes,
   * a `Blob`, a stream) as a `Response`. If the service has a hint for the author of the code, `onHint` receives it.
   *
   * @throws {CaissonError} if the request was refused (`status`), or if the run failed (`at`, `taskError`, `record`)
   */
  async run<T = unknown>(container: string, code: Source, options: RunOptions = {}): Promise<T> {
    const record = await this.record(container, code, { ...runOptions(options), maxResult: "max" });
    const value = valueOf(record) as T;
    this.#notice.of(record);
    return value;
  }

  /**
   * Runs code, or a named task, and returns the record of the run, also if the run failed.
   *
   * @throws {CaissonError} if the run was not admitted
   */
  async record(container: string, code: Source, options: RecordOptions = {}): Promise<AnsweredRunRecord> {
    const request = runRequest(container, code, options);
    return withTaskHint(await this.#transport.json("POST /api/runs/{container}", request, options), container, code);
  }

  /** Runs code, or a named task, and returns its events as they come. To stop reading cancels the run. */
  stream<T = unknown>(
    container: string,
    code: Source,
    options: RunOptions = {},
  ): AsyncGenerator<RunEvent<T>, void, undefined> {
    return streamRun<T>(this.#transport, container, code, { ...runOptions(options), maxResult: "max" });
  }

  /**
   * Parses code without running it, for editors. It counts against no limit of runs. Needs the verb `run` or `tasks`.
   *
   * @returns the fault, or null if the code parses
   */
  async check(container: string, request: CheckRequest, options: RequestOptions = {}): Promise<CodeCheck["error"]> {
    const { error } = await this.#transport.json(
      "POST /api/check/{container}",
      { path: { container }, json: mustBeObject(request, '{ code: "return 1" }') },
      options,
    );
    return error;
  }

  /** Returns the counts of runs, processor time and bytes over time. Needs the verb `logs`. */
  usage(query: Routes["GET /api/usage"]["query"] = {}, options: RequestOptions = {}): Promise<Usage> {
    return this.#transport.json("GET /api/usage", { query }, options);
  }

  /** Returns the same counts as CSV, for a spreadsheet. Needs the verb `logs`. */
  async usageCsv(query: Routes["GET /api/usage"]["query"] = {}, options: RequestOptions = {}): Promise<UsageCsv> {
    const parameters = { query, headers: { accept: "text/csv" } };
    const { text: csv, headers } = await this.#transport.text("GET /api/usage", parameters, options);
    const count = (name: string): number =>
      Number(new RegExp(`\\b${name}=(\\d+)`).exec(headers.get("caisson-nodes") ?? "")?.[1] ?? 1);
    const nodes = { asked: count("asked"), answered: count("answered") };
    return { csv, truncated: headers.has("caisson-truncated"), nodes };
  }

  /** Returns the failures, grouped by their cause, the latest first. Needs the verb `logs`. */
  failures(query: Routes["GET /api/failures"]["query"] = {}, options: RequestOptions = {}): Promise<FailureGroups> {
    return this.#transport.json("GET /api/failures", { query }, options);
  }

  /** Returns the state of the service, also if it takes no runs now. Needs no token. */
  health(options: RequestOptions = {}): Promise<Health> {
    return this.#transport.json("GET /healthz", { wanted: 503 }, options);
  }

  /** Returns checks, warnings, nodes, keys and settings of the service. For administrators. */
  system(options: RequestOptions = {}): Promise<System> {
    return this.#transport.json("GET /api/system", {}, options);
  }

  /** Lists the changes of tokens, tasks, containers and limits, the newest first. For administrators. */
  audit(
    query: Routes["GET /api/audit"]["query"] = {},
    options: RequestOptions = {},
  ): List<AuditPage["entries"][number], AuditPage> {
    return new List(
      (cursor) => this.#transport.json("GET /api/audit", { query: { ...query, cursor } }, options),
      ({ entries }) => entries,
      query.cursor,
    );
  }
}

nameOthers(Caisson.prototype, {
  "exec execute eval invoke call runCode": 'write run("acme", "return 1"), or run("acme", { task: "total" })',
  "secrets params": 'a task or a token has them: tasks.put("acme", "hook", { code, secrets: { API_KEY: "..." } })',
});
