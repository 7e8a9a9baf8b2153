import type { TaskPosition } from "../errors.ts";
import type { LogLevel } from "../wire/messages.ts";

/** How a run ended, or `running`. Every status other than `running`, `ok` and `interrupted` has a code in `error`. */
export const RUN_STATUSES = [
  "running",
  "ok",
  "cancelled",
  /** The service ended before the run. */
  "interrupted",
  "threw",
  "called_back",
  "timeout",
  "blocked",
  "stalled",
  "memory",
  "exited",
  "syntax",
  "unserializable",
  "too_large",
  /** Code that the service refuses after the admission: its shape, its URL, a module that is missing. */
  "refused",
  /** A fault of the service. */
  "failed",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** How the guest of a run was found: warm, a spare of the pool, or launched for the run. */
export const GUEST_STARTS = ["warm", "new", "cold"] as const;
export type GuestStart = (typeof GUEST_STARTS)[number];

export interface ConsoleLine {
  /** Milliseconds since the guest received the run. */
  readonly atMs: number;
  readonly level: LogLevel;
  readonly text: string;
}

export interface RecordError {
  /** A code of the error table. */
  readonly code: string;
  /** The name of the task's own error; null for an error of the service. */
  readonly name: string | null;
  readonly message: string;
  readonly hint: string | null;
  readonly at: TaskPosition | null;
  readonly stack: string | null;
}

/** A limit that applied to the run, after its admission. */
export interface RecordLimit {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until `remaining` next grows. */
  readonly resetMs: number;
  readonly setBy: "default" | "policy" | "token" | "ancestor" | "task";
}

/** The packages of a run. `GET /api/packages/{lock}` has the whole lock. */
export interface RecordPackages {
  /** The key of the lock. */
  readonly lock: string;
  /** The versions of the packages that the code or the request names. */
  readonly versions: Readonly<Record<string, string>>;
}

/** What a run did. This is the one description that the API, the command line and the client show. */
export interface RunRecord {
  /** The id of the run: 12 hexadecimal digits that name the process of the service, then a counter in base 36. */
  readonly run: string;
  readonly container: string;
  readonly task: string | null;
  /** The version of the named task. */
  readonly version: number | null;
  readonly trigger: "call";
  /** The name of the node that executed the run. */
  readonly node: string;
  /** The `jti` of the token of the request; null for a public task that was called without a token. */
  readonly token: string | null;
  readonly status: RunStatus;
  readonly resultType: string | null;
  /** The head of the `Response` of the task; null if the task returned another value. */
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | null;
  readonly console: readonly ConsoleLine[];
  /** What the run printed beyond its limits. */
  readonly dropped: { readonly lines: number; readonly bytes: number };
  readonly error: RecordError | null;
  readonly hint: string | null;
  /** RFC 3339, in UTC, with milliseconds. */
  readonly startedAt: string;
  /** Milliseconds before the admission, until the guest had the run, and until the end; null before the step. */
  readonly ms: { readonly queue: number | null; readonly start: number | null; readonly run: number | null };
  readonly start: GuestStart | null;
  readonly guest: {
    /** Processor time of the guest process while the run was in flight; null if it was not read. */
    readonly cpuMs: number | null;
    /** The peak of the guest since it began; null if it was not read. */
    readonly memoryPeakBytes: number | null;
    /** The number of other runs that shared the guest. */
    readonly concurrentRuns: number;
  };
  readonly egress: {
    readonly connections: number;
    readonly bytesSent: number;
    readonly bytesReceived: number;
    readonly refused: number;
  };
  readonly traceparent: string | null;
  /** The limits in force, by window; empty where none was set. */
  readonly limits: {
    readonly container: Readonly<Record<string, RecordLimit>>;
    readonly token: Readonly<Record<string, RecordLimit>>;
  };
  /** The packages that the code imports; absent if there are none. */
  readonly packages?: RecordPackages;
  /** The body of the request, if the task has `record: "input"`. */
  readonly input?: string;
}

/** A run as the service keeps it: its record, and what decides who pays for it and who may cancel it. */
export interface KeptRun {
  readonly record: RunRecord;
  /** The family of tokens that the storage counts for. A public call counts for the family of the task. */
  readonly family: string;
  /** The network of a client without a token, which has a part of the family's share; null if the client has a token. */
  readonly network: string | null;
  /** The `jti`s of the request's token and of the tokens above it. A token may cancel its own runs and those below it. */
  readonly lineage: readonly string[];
  /** Unix milliseconds. */
  readonly startedMs: number;
}

/** An entry of a list: a record without console, stack, frame and input. */
export type RunEntry = Omit<RunRecord, "console" | "input">;

/** Returns the entry of a record in a list. */
export function entryOf({ console: _console, input: _input, error, ...rest }: RunRecord): RunEntry {
  return { ...rest, error: error && { ...error, stack: null, at: error.at && { ...error.at, frame: null } } };
}

/** The order of all lists: the newest start first; equal starts by id. Also the cursor after this record. */
export function cursorOf({ startedMs, record }: KeptRun): string {
  return `${startedMs}.${record.run}`;
}
