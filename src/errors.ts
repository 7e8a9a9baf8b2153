/**
 * Every way in which a request can fail. The code is stable and machine-readable; the status, the party at fault and
 * the title belong to the code. The errors page is made from this table.
 */
export const PROBLEMS = {
  container_invalid: { status: 400, fault: "caller", title: "The container name is not valid" },
  request_invalid: { status: 400, fault: "caller", title: "The request is not valid" },
  credentials_ambiguous: { status: 400, fault: "caller", title: "More than one credential was given" },
  code_missing: { status: 400, fault: "caller", title: "No code was given" },
  code_ambiguous: { status: 400, fault: "caller", title: "Code was given by more than one means" },
  code_too_large: { status: 400, fault: "caller", title: "The code is too large" },
  code_syntax: { status: 400, fault: "caller", title: "The code does not parse" },
  code_shape: { status: 400, fault: "caller", title: "The code has a shape that cannot be run" },
  code_pinned: { status: 400, fault: "caller", title: "The token runs only its own code" },
  task_url_invalid: { status: 400, fault: "caller", title: "task_url is not a URL that can be fetched" },
  task_url_forbidden: { status: 400, fault: "caller", title: "task_url leads to a place that is not allowed" },
  task_url_unreachable: { status: 400, fault: "caller", title: "task_url could not be fetched" },
  task_url_status: { status: 400, fault: "caller", title: "task_url answered with an error" },
  task_url_too_large: { status: 400, fault: "caller", title: "task_url gave more than a task may be long" },
  task_url_not_code: { status: 400, fault: "caller", title: "task_url gave something that is not code" },
  task_error: { status: 400, fault: "task", title: "The task called back with an error" },
  token_missing: { status: 403, fault: "caller", title: "A token is needed" },
  token_invalid: { status: 403, fault: "caller", title: "The token is not valid" },
  token_forbidden: { status: 403, fault: "caller", title: "The token does not permit this" },
  not_found: { status: 404, fault: "caller", title: "There is nothing at this path" },
  method_not_allowed: { status: 405, fault: "caller", title: "The method does not apply to this path" },
  container_limited: { status: 429, fault: "limit", title: "The container has used up its limit" },
  token_limited: { status: 429, fault: "limit", title: "The token has used up its limit" },
  container_busy: { status: 429, fault: "limit", title: "There is no place for another run now" },
  auth_limited: { status: 429, fault: "limit", title: "Too many tokens of this address were checked" },
  task_threw: { status: 500, fault: "task", title: "The task threw an error" },
  task_timeout: { status: 500, fault: "task", title: "The task ran out of time" },
  task_blocked: { status: 500, fault: "task", title: "The task blocked its event loop" },
  task_memory: { status: 500, fault: "task", title: "The task ran out of memory" },
  task_exited: { status: 500, fault: "task", title: "The task ended its process" },
  result_unserializable: { status: 500, fault: "task", title: "The result cannot be written as JSON" },
  result_too_large: { status: 500, fault: "task", title: "The result is too large" },
  container_restarted: { status: 500, fault: "service", title: "Another run ended the container" },
  sandbox_failed: { status: 500, fault: "service", title: "The sandbox could not be started" },
  internal_error: { status: 500, fault: "service", title: "The service failed" },
  draining: { status: 503, fault: "service", title: "The service is stopping" },
  overloaded: { status: 503, fault: "service", title: "The service takes no more containers" },
  store_unavailable: { status: 503, fault: "service", title: "The store cannot be written" },
} as const;

/** Whose doing an error is, as sent in `Caisson-Fault`. */
export type Fault = "caller" | "task" | "limit" | "service";

export type ProblemCode = keyof typeof PROBLEMS;

/** The error that a task itself threw, its stack in lines and columns of the submitted source. */
export interface TaskError {
  name: string;
  message: string;
  stack?: string;
  cause?: TaskError;
  /** Of an `AggregateError` and its kind. */
  errors?: TaskError[];
  /** Its own properties, as far as they are JSON. */
  [property: string]: unknown;
}

export interface ProblemOptions {
  /** What the reader can do about it, in one sentence. */
  hint?: string;
  /** How long to wait before a retry can succeed, in milliseconds. */
  retryAfterMs?: number;
  /** Each single fault, where several are reported at once. */
  violations?: readonly object[];
  /** The task's own error. */
  error?: TaskError;
  /** A status other than the code's own, where a task asked for it. */
  status?: number;
  /** Headers that belong to this answer, such as `Allow`. */
  headers?: Readonly<Record<string, string>>;
  /** What went wrong inside, for the log only. */
  cause?: unknown;
}

/**
 * The one error class: a failure that is answered as a problem document (RFC 9457).
 *
 * The message becomes `detail` and is read by strangers: never a secret, a token, a host path or an internal address.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly status: number;
  readonly fault: Fault;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? PROBLEMS[code].status;
    this.fault = PROBLEMS[code].fault;
    this.options = options;
  }
}
