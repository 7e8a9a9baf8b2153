import type { Priority } from "../../sandbox/sandbox.ts";

/**
 * The time after its first run in which a guest that has answered no run comes before others. It may replace a guest that
 * was lost, and its client waits.
 */
const FIRST_RUN_MS = 150;

/** What decides the priority of a guest that answers its pings. */
export interface AnsweringGuest {
  /** The number of runs that the guest has ended itself. */
  readonly answered: number;
  /** When the guest received its first run; infinite before. */
  readonly begunMs: number;
}

/** The priority of a guest that owes no answer. A guest that owes one has `low`, or a turn. */
export function priorityOf({ answered, begunMs }: AnsweringGuest, isHog: boolean, nowMs: number): Priority {
  if (isHog) return "busy";
  return answered > 0 || nowMs - begunMs > FIRST_RUN_MS ? "normal" : "high";
}
