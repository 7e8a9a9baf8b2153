import type { ContainerPatterns } from "../query.ts";
import type { RunStatus } from "../record.ts";

/** What a run counts for. */
export interface UsageSubject {
  readonly container: string;
  readonly task: string | null;
  /** The `jti` of the token of the request; null for a public task that was called without a token. */
  readonly token: string | null;
  /** The family of tokens that pays for the storage of the counts. */
  readonly family: string;
}

/** The counts of one subject in one minute. Opaque to callers. */
export type UsageCell = object;

export interface UsageQuery {
  readonly by: "container" | "task" | "token";
  readonly fromMs: number;
  readonly toMs: number;
  readonly step: "hour" | "day";
  readonly permitted: ContainerPatterns;
}

export interface UsageRow {
  readonly container: string;
  /** Only with `by=task`. */
  readonly task?: string | null;
  /** Only with `by=token`. */
  readonly token?: string | null;
  /** The start of the step, RFC 3339 in UTC. */
  readonly from: string;
  /** Runs by status. */
  readonly runs: Readonly<Record<string, number>>;
  /** Refused requests by error code. */
  readonly refused: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly runMs: number;
  readonly egressBytes: number;
}

/** Counts runs, exactly: a run is counted when it is admitted, in the minute of its admission, and again by its outcome. */
export interface Usage {
  /** Counts an admitted run. It must cost less than 0.3 µs for a subject that was seen before in this minute. */
  admitted(subject: UsageSubject, nowMs: number): UsageCell;
  ended(cell: UsageCell, status: RunStatus, runMs: number, egressBytes: number): void;
  /** Adds processor time of a guest that was shared out to the runs of this subject. */
  addCpu(cell: UsageCell, cpuMs: number): void;
  /** Counts a request that was refused with this code before the admission. */
  refused(subject: UsageSubject, code: string, nowMs: number): void;
  read(query: UsageQuery, reader: string): Promise<readonly UsageRow[]>;
  close(): Promise<void>;
}
