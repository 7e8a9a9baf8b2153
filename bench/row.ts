import type { Bench } from "./bench.ts";

export type Unit = "of bare" | "times bare" | "times quiet" | "runs/s" | "ms" | "MiB" | "";

/** One figure of a row: the median of its rounds counts. */
export interface Figure {
  /** The member of the results of a round. */
  readonly id: string;
  readonly title: string;
  readonly unit: Unit;
  readonly better: "more" | "less";
  /** What this project wants to reach; null for a figure that only informs. */
  readonly aim: number | null;
  /** What this project holds on two quiet cores, less the noise of a machine. `--check` fails below it; null if nothing is held yet. */
  readonly budget: number | null;
}

/** What one round of a row has measured. It may have more members than the row has figures: what the figures were computed from. */
export type Round = Readonly<Record<string, number>>;

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  /** Whether the row is part of `--quick`. */
  readonly isQuick?: boolean;
  /** Whether the row needs the program wrk. */
  readonly needsWrk: boolean;
  /** Whether this machine can measure the row; missing for a row that every machine can measure. */
  readonly isPossible?: () => boolean;
  /** The maximum number of rounds of a row that takes long; by default as many as the others. */
  readonly mostRounds?: number;
  /** The other runtime that the row measures; missing for a row of this service. */
  readonly peer?: Peer;
  measure(bench: Bench): Promise<Round>;
}

/** Another runtime for the same kind of code. */
export interface Peer {
  readonly name: string;
  /** The package whose version the results state; missing for a peer that is part of Node. */
  readonly package?: string;
  /** What each run of new code gets. */
  readonly each: string;
}
