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
  /**
   * The families whose counts without a name the reader sees. A family with too many containers, tasks or tokens counts
   * the further ones together, under the name `OTHER`, so no pattern of a reader decides about them.
   */
  readonly others: "all" | "none" | { readonly family: string };
}

/** The name of all containers, tasks or tokens that are counted together. No name of a container or task is like it. */
export const OTHER = "(other)";

export interface UsageRow {
  readonly container: string;
  /** Only with `by=task`. */
  readonly task?: string | null;
  /** Only with `by=token`. */
  readonly token?: string | null;
  /** The start of the step, RFC 3339 in UTC. */
  readonly from: string;
  /** Runs by status. The sum is the number of admitted runs. */
  readonly runs: Readonly<Record<string, number>>;
  /** Refused requests by error code. */
  readonly refused: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly runMs: number;
  readonly egressBytes: number;
  /** The number of ended runs by duration: under the name of each bound in milliseconds those that took at most so long. */
  readonly durations: Readonly<Record<string, number>>;
}

/** What a read found. */
export interface UsageAnswer {
  readonly rows: readonly UsageRow[];
  /** Whether entries were added up under the name `OTHER`, because an answer has no place for all of them. */
  readonly isTruncated: boolean;
}

/** Why counts were lost, or may be lost. */
export interface UsageLosses {
  /** Counts that the memory had no place for while the file could not be written. */
  readonly lost: number;
  /** The last error of the writer, or null while it works. It has no path. */
  readonly failure: string | null;
  /** The names of damaged files that were set aside since the start. Their counts are not shown. */
  readonly setAside: readonly string[];
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
  /**
   * @param reader the family of the reader, which has one read at a time.
   * @throws {Problem} `token_limited` if too many reads of the family wait, `store_unavailable` if the counts cannot be read.
   */
  read(query: UsageQuery, reader: string): Promise<UsageAnswer>;
  readonly losses: UsageLosses;
  /** Writes all counts, and closes the file. */
  close(): Promise<void>;
}
