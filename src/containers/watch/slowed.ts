import { getPriority } from "node:os";

import { LAST_NICENESS } from "../../sandbox/lower-threads.ts";
import type { GuestFacts, UsageSample } from "./usage-sample.ts";

/** The shortest time in which a guest is replaced for its low share, so that honest busy tasks cost one start a minute. */
const LEAST_LIFE_MS = 60_000;
/** Whether a new guest has another niceness than the highest. An operator can start the service with that. */
const HELPS = getPriority() < LAST_NICENESS;

/**
 * Whether a guest has a low share for no reason any more: it used the processor for long, and now rests. Only a user with a
 * capability of the kernel could raise its share.
 */
export function keepsLowShare({ niceness, atMs }: UsageSample, { priority, heartbeat, begunMs }: GuestFacts): boolean {
  const isResting = priority === "normal" && heartbeat.pingedMs === null;
  return HELPS && niceness === LAST_NICENESS && isResting && atMs - begunMs >= LEAST_LIFE_MS;
}
