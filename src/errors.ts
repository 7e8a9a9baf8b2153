import { type Fault, type ProblemCode, PROBLEMS } from "./error-codes.ts";

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
