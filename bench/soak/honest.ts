import { setTimeout } from "node:timers/promises";

import type { RequestOptions } from "../../test/contract/http.ts";
import { SHAPES } from "./shapes.ts";
import type { SoakContext } from "./soak-context.ts";

const NEIGHBOUR_PAUSE_MS = 25;
const GOOD_PAUSE_MS = 40;
const GOOD_CONTAINERS = 4;

/** Repeats the same run in a separate container, and measures its time: the neighbour of the contract. */
export async function neighbour(context: SoakContext, signal: AbortSignal, isQuiet: () => boolean): Promise<void> {
  const { service, timed, tally } = context;
  const token = await service.issue({ containers: ["neighbour"] });
  for (; !signal.aborted; await setTimeout(NEIGHBOUR_PAUSE_MS)) {
    const beganQuiet = isQuiet();
    const { answer, tookMs } = await timed.run("neighbour", "6 * 7", token);
    // A run that was in flight at the first attack counts for neither phase.
    if (beganQuiet === isQuiet()) (beganQuiet ? tally.quiet : tally.attacked).add(tookMs);
    tally.judge("the neighbour's run", answer, answer.status === 200 && answer.text === "42");
  }
}

/** Submits honest runs of every shape, in several containers. */
export async function good({ service, tally }: SoakContext, signal: AbortSignal, number: number): Promise<void> {
  const token = await service.issue({ containers: ["good-*"] });
  for (let n = number; !signal.aborted; n += GOOD_CONTAINERS * SHAPES.length + 1) {
    const shape = SHAPES[n % SHAPES.length]!;
    const sent = shape.send(n);
    const options: RequestOptions = typeof sent === "string" ? { body: sent } : sent;
    const answer = await service.request("POST", `/api/run/good-${n % GOOD_CONTAINERS}`, { token, ...options });
    tally.good.add(shape.name);
    tally.judge(`the good run "${shape.name}"`, answer, shape.holds(answer, n));
    await setTimeout(GOOD_PAUSE_MS);
  }
}
