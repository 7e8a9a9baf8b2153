import { type Fault, type ProblemCode, PROBLEMS } from "./error-codes.ts";

/** The error that a task threw. Its stack refers to lines and columns of the submitted source. */
export interface TaskError {
  name: string;
  message: string;
  stack?: string;
  cause?: TaskError;
  /** The errors of an `AggregateError` or a similar error. */
  errors?: TaskError[];
  /** The own properties of the error that are JSON. */
  [property: string]: unknown;
}

/** A position in submitted code. Only callers who may read the code may see its frame. */
export interface TaskPosition {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The lines around the position, with a mark under it; null if the text is not available. */
  readonly frame: string | null;
}

export interface ProblemOptions {
  /** The fix, in one sentence. */
  hint?: string;
  /** The milliseconds after which a retry can succeed. */
  retryAfterMs?: number;
  /** The faults, if the answer reports several at once. */
  violations?: readonly object[];
  /** The error that the task threw. */
  error?: TaskError;
  /** The position of the error in the submitted code. The problem document does not contain it. */
  at?: TaskPosition;
  /** The party at fault, if it is not the party of the code. */
  fault?: Fault;
  /** The status that a task chose instead of the status of the code. */
  status?: number;
  /** Additional headers of this answer, such as `Allow`. */
  headers?: Readonly<Record<string, string>>;
  /** The id of the run, if other code makes the answer. */
  run?: string;
  /** The internal cause, for the log only. */
  cause?: unknown;
}

/** The codes whose help is the fix of each of their problems. A problem of another code may have another fix. */
const HELPED: ReadonlySet<ProblemCode> = new Set([
  "container_busy",
  "container_restarted",
  "auth_limited",
  "draining",
  "overloaded",
  "store_unavailable",
  "node_unavailable",
  "sandbox_failed",
  "internal_error",
]);

/**
 * The error class of failures that clients receive as a problem document (RFC 9457).
 *
 * The message becomes `detail`, which strangers read. It must not contain a secret, a token, a host path or an internal
 * address.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly status: number;
  readonly fault: Fault;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    // Nothing reads the stack of a problem. V8 takes as long to make one as to refuse a run.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = options.status ?? PROBLEMS[code].status;
    this.fault = options.fault ?? PROBLEMS[code].fault;
    this.options = options.hint === undefined && HELPED.has(code) ? { ...options, hint: PROBLEMS[code].help } : options;
  }
}
