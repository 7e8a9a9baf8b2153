import { setTimeout } from "node:timers/promises";

import type { Answer } from "../../test/contract/http.ts";
import type { Service } from "../../test/contract/service.ts";
import type { Canaries } from "../../test/hostile/canaries.ts";
import type { Tally } from "./tally.ts";
import type { TimedRuns } from "./timed-runs.ts";

/** What the loops of a soak share. */
export interface SoakContext {
  readonly service: Service;
  readonly timed: TimedRuns;
  readonly canaries: Canaries;
  readonly tally: Tally;
  readonly blockMs: number;
  readonly wallMs: number;
}

/** Waits for the time in the header Retry-After. */
export async function waitForRetry(answer: Answer, signal: AbortSignal): Promise<void> {
  await setTimeout(Number(answer.headers["retry-after"]) * 1_000, undefined, { signal }).catch(() => {});
}
