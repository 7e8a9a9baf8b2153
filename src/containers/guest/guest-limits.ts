import type { LogLimits } from "../../wire/log-allowance.ts";
import type { CacheOf } from "./package-table.ts";
import type { TransformText } from "./transform-texts.ts";

/** The limits of a guest's runs. */
export interface GuestLimits {
  /** The maximum time from sending a run to its result, or to the head of its stream. */
  readonly wallMs: number;
  /** The maximum time from the head of a stream to its end. */
  readonly streamMs: number;
  /** The maximum length of a buffered result. */
  readonly resultBytes: number;
  /** The limits of each run's log. */
  readonly logs: LogLimits;
}

/** What makes code for a guest. */
export interface GuestHelpers {
  /** Without it, decorators and JSX are faults of the code. */
  readonly transform?: TransformText | null;
  readonly cacheOf?: CacheOf;
}
