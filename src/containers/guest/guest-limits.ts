import type { LogLimits } from "../../wire/log-allowance.ts";

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
