import { setTimeout } from "node:timers/promises";

import type { Bench } from "../bench.ts";
import { CODES, textOf } from "../load/codes.ts";
import { type AnswerTimes, flood } from "../load/flood.ts";
import { timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import { peakMiB, residentMiB } from "../memory.ts";
import type { Round } from "../row.ts";

const CONNECTIONS = 1_000;
/** So many client addresses that the share of one network limits none. */
const ADDRESSES = 16;
const SECONDS = 10;
const QUICK_SECONDS = 2;
/** The time in which the service gives back what the load before has used. */
const SETTLE_MS = 1_000;
/** The time after the load in which the memory must be free again. */
const RECOVERY_MS = 10_000;
const REFUSALS: readonly number[] = [429, 503];

/** Sends runs from a thousand connections at once to one container, which takes 64 at once. */
export async function measureOverload(bench: Bench): Promise<Round> {
  await using service = await bench.service();
  // V8 compiles what is called often. Otherwise the slowest answers would be the first ones of a thousand connections.
  await load(service.url, { connections: 32, seconds: 1, token: service.token });
  await setTimeout(SETTLE_MS);
  const beforeMiB = await residentMiB(service.pid);
  const { peakMiB: peak, result } = await peakMiB(service.pid, () =>
    flood({
      port: Number(new URL(service.url).port),
      token: service.token,
      connections: CONNECTIONS,
      seconds: bench.isQuick ? QUICK_SECONDS : SECONDS,
      container: "bench0",
      addresses: ADDRESSES,
      body: textOf(CODES.body),
    }),
  );
  const { ms: nextMs } = await timeRun(service, "bench0");
  await setTimeout(RECOVERY_MS);
  const { answers, lost, unanswered } = result;
  const admitted = longest(answers.filter(({ status }) => status === 200));
  const refused = longest(answers.filter(({ status }) => REFUSALS.includes(status)));
  const others = answers.filter(({ status }) => status !== 200 && !REFUSALS.includes(status));
  return {
    admitted: admitted.count,
    admittedP99Ms: admitted.p99Ms,
    admittedLongestMs: admitted.longestMs,
    refused: refused.count,
    refusedP99Ms: refused.p99Ms,
    refusedLongestMs: refused.longestMs,
    failed: lost + unanswered + others.reduce((sum, { count }) => sum + count, 0),
    nextMs,
    beforeMiB,
    peakMiB: peak,
    afterMiB: await residentMiB(service.pid),
  };
}

/** Merges the answers of several statuses: the worst time counts. */
function longest(answers: readonly AnswerTimes[]): Omit<AnswerTimes, "status" | "p50Ms"> {
  const most = (of: (answer: AnswerTimes) => number): number => Math.max(0, ...answers.map(of));
  return {
    count: answers.reduce((sum, { count }) => sum + count, 0),
    p99Ms: most(({ p99Ms }) => p99Ms),
    longestMs: most(({ longestMs }) => longestMs),
  };
}
