import type { LogLimits } from "../../wire/log-allowance.ts";

/** What a guest's runs may take. */
export interface GuestLimits {
  /** From sending a run to its result, or to the head of its stream. */
  readonly wallMs: number;
  /** From the head of a stream to its end. */
  readonly streamMs: number;
  /** Of a buffered result. */
  readonly resultBytes: number;
  /** Of each run. */
  readonly logs: LogLimits;
}
