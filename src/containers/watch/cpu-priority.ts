import type { Priority } from "../../sandbox/sandbox.ts";

/**
 * A guest that has answered no run comes before others for so long after its first run: it may replace a guest that was
 * lost, and its caller waits.
 */
const FIRST_RUN_MS = 150;

/** What decides the priority of a guest that answers its pings. */
export interface AnsweringGuest {
  /** The number of runs that it has ended itself. */
  readonly answered: number;
  /** When it received its first run; infinite before. */
  readonly begunMs: number;
}

/** The priority of a guest that owes no answer. A guest that owes one has `low`, or a turn. */
export function priorityOf({ answered, begunMs }: AnsweringGuest, isHog: boolean, nowMs: number): Priority {
  if (isHog) return "busy";
  return answered > 0 || nowMs - begunMs > FIRST_RUN_MS ? "normal" : "high";
}
