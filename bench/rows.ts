import { type Code, CODES } from "./load/codes.ts";
import { PEER_ROWS } from "./peers/peers.ts";
import type { Figure, Row } from "./row.ts";
import { measureBurst } from "./rows/burst.ts";
import { compare, type Comparison, compareLatency } from "./rows/compare.ts";
import { hasBrowser, measureConsole } from "./rows/console.ts";
import { measureManyContainers } from "./rows/many-containers.ts";
import { measureGuestMemory, measureServiceMemory } from "./rows/memory.ts";
import { measureModuleGrowth } from "./rows/module-growth.ts";
import { measureFresh, timeNewContainers } from "./rows/new-containers.ts";
import { measureOverload } from "./rows/overload.ts";
import { measurePackages } from "./rows/packages.ts";
import { measureSlowClients } from "./rows/slow-clients.ts";
import { timeStart } from "./rows/start.ts";

/** The rounds of rows that start a service of their own and take half a minute or more. */
const FEW = 3;
const { body, expression, module, arrow, commonjs } = CODES;

/**
 * All rows with the aim and the budget of each figure. A budget is what the service holds today on two quiet cores, less a
 * fifth for the noise of a machine. Raise it when a figure improves.
 */
export const ROWS: readonly Row[] = [
  quick(compare("warm-body", "warm, body", { aim: 0.75, budget: 0.35 }, { connections: 32, code: body })),
  compare(
    "warm-module",
    "warm `export default`, one text in a hundred new",
    { aim: 0.65, budget: 0.3 },
    { connections: 32, code: module, newEvery: 100 },
  ),
  compare("new-expression", "new code each time, expression", { aim: 0.4, budget: 0.2 }, all(expression)),
  quick(compare("new-body", "new code each time, body", { aim: 0.4, budget: 0.24 }, { ...all(body), alsoOne: true })),
  quick(
    compare(
      "new-module",
      "new code each time, `export default`",
      { aim: 0.3, budget: 0.22 },
      { ...all(module), alsoOne: true },
    ),
  ),
  compare("new-arrow", "new code each time, arrow function", { aim: 0.35, budget: 0.18 }, all(arrow)),
  compare("new-commonjs", "new code each time, CommonJS", { aim: 0.35, budget: 0.2 }, all(commonjs)),
  compare(
    "eight-body",
    "8 containers at once, warm, body",
    { aim: 0.55, budget: 0.3 },
    { connections: 32, code: body, containers: 8 },
  ),
  compare(
    "eight-module",
    "8 containers at once, warm, `export default`",
    { aim: 0.55, budget: 0.22 },
    { connections: 32, code: module, containers: 8 },
  ),
  compareLatency("one", "one connection, warm, body", { aim: 2, budget: 3.3 }, { connections: 1, code: body }),
  {
    id: "never-seen",
    title: "never-seen container from the pool",
    figures: [
      less("p50Ms", "p50", "ms", { aim: 1.5, budget: 4.5 }),
      less("p95Ms", "p95", "ms", { aim: 4, budget: 12 }),
      less("warmMs", "p50 of a warm run, the same way", "ms", { aim: null, budget: null }),
    ],
    isQuick: true,
    needsWrk: true,
    measure: timeNewContainers,
  },
  {
    id: "fresh",
    title: "fresh guest for each run",
    figures: [
      more("perSecond", "sustained, 8 connections", "runs/s", { aim: 55, budget: 25 }),
      less("restMs", "p50 with a full pool", "ms", { aim: null, budget: null }),
      less("warmMs", "p50 of a warm run, the same way", "ms", { aim: null, budget: null }),
    ],
    needsWrk: true,
    measure: measureFresh,
  },
  {
    id: "packages",
    title: "packages of npm",
    figures: [
      less("addedMs", "first run of a new guest with zod, p50, more than without", "ms", { aim: 15, budget: 45 }),
      less("plainMs", "first run of a new guest without packages, p50", "ms", { aim: null, budget: null }),
      more("warmRatio", "warm runs with zod, of those without", "", { aim: 0.95, budget: 0.7 }),
      less("lockMs", "warm run with zod on one connection, p50, more than without", "ms", { aim: 1, budget: 1 }),
      less("buildMs", "first build of zod, lodash and date-fns", "ms", { aim: 3_000, budget: null }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measurePackages,
  },
  {
    id: "start",
    title: "start from `dist/main.js` to the first answer",
    figures: [less("firstMs", "time", "ms", { aim: 800, budget: 1_700 })],
    isQuick: true,
    needsWrk: false,
    measure: timeStart,
  },
  {
    id: "service-memory",
    title: "memory of the service's process",
    figures: [
      less("startMiB", "after the start", "MiB", { aim: 70, budget: 117 }),
      less("loadMiB", "most under load", "MiB", { aim: 150, budget: 250 }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measureServiceMemory,
  },
  {
    id: "guest-memory",
    title: "memory of a guest (PSS), of twenty",
    figures: [
      less("blankMiB", "blank", "MiB", { aim: 10, budget: 14 }),
      less("usedMiB", "after 500 runs of new code", "MiB", { aim: 20, budget: 42 }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measureGuestMemory,
  },
  {
    id: "module-growth",
    title: "200,000 different modules in one container",
    figures: [
      less("replacedForMemory", "guests replaced for their memory", "", { aim: 0, budget: null }),
      less("growthMiB", "growth of a guest's heap", "MiB", { aim: 16, budget: null }),
      more("perSecond", "rate", "runs/s", { aim: null, budget: null }),
    ],
    needsWrk: true,
    mostRounds: 1,
    measure: measureModuleGrowth,
  },
  {
    id: "many-containers",
    title: "500 containers alive at once",
    figures: [
      less("mib", "memory of all processes (PSS)", "MiB", { aim: 5_940, budget: 7_130 }),
      less("lost", "containers that lost their guest", "", { aim: 0, budget: 0 }),
      less("oneP50Ms", "one of them, p50", "ms", { aim: 0.5, budget: 0.75 }),
      less("turnsP50Ms", "in turn, p50", "ms", { aim: 0.7, budget: 1.2 }),
      less("turnsP95Ms", "in turn, p95", "ms", { aim: 3, budget: 10 }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measureManyContainers,
  },
  {
    id: "burst",
    title: "100 new containers at once",
    figures: [
      less("p50Ms", "p50", "ms", { aim: null, budget: 2_700 }),
      less("p95Ms", "p95", "ms", { aim: 1_500, budget: 4_900 }),
      less("neighbourLongestMs", "longest wait of a warm neighbour", "ms", { aim: 100, budget: 300 }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measureBurst,
  },
  {
    id: "overload",
    title: "1,000 connections to one container",
    figures: [
      less("admittedLongestMs", "admitted runs, longest", "ms", { aim: 30_000, budget: 30_000 }),
      less("admittedP99Ms", "admitted runs, p99", "ms", { aim: null, budget: null }),
      less("refusedP99Ms", "refusals, p99", "ms", { aim: 50, budget: 1_000 }),
      less("failed", "requests without an answer", "", { aim: 0, budget: null }),
      less("peakMiB", "memory of the service, most", "MiB", { aim: 250, budget: 340 }),
      less("afterMiB", "memory of the service, 10 s later", "MiB", { aim: 150, budget: 250 }),
    ],
    needsWrk: true,
    mostRounds: FEW,
    measure: measureOverload,
  },
  {
    id: "slow-clients",
    title: "2,000 idle connections, 200 slow senders, 40 that do not read",
    figures: [
      less("p99Ratio", "runs of others, p99", "times quiet", { aim: 1.5, budget: 4 }),
      less("makingP99Ratio", "runs of others, p99, while the 40 results are made", "times quiet", {
        aim: null,
        budget: null,
      }),
      less("failed", "runs of others that failed", "", { aim: 0, budget: 0 }),
      less("left", "connections that are not dropped after two minutes", "", { aim: 0, budget: null }),
      less("droppedMs", "time until all are dropped", "ms", { aim: null, budget: null }),
      less("peakMiB", "memory of the service, most", "MiB", { aim: null, budget: null }),
    ],
    needsWrk: true,
    mostRounds: 1,
    measure: measureSlowClients,
  },
  {
    id: "console",
    title: "web console in Chromium, 10,000 runs and 1,000 containers",
    figures: [
      less("openMs", "overview complete after a reload without a cache", "ms", { aim: 500, budget: 1_000 }),
      less("frameMs", "longest frame of a fast scroll through both lists", "ms", { aim: 50, budget: 100 }),
    ],
    needsWrk: false,
    isPossible: hasBrowser,
    mostRounds: FEW,
    measure: measureConsole,
  },
  ...PEER_ROWS,
];

type Bounds = Pick<Figure, "aim" | "budget">;

function more(id: string, title: string, unit: Figure["unit"], bounds: Bounds): Figure {
  return { id, title, unit, better: "more", ...bounds };
}

function less(id: string, title: string, unit: Figure["unit"], bounds: Bounds): Figure {
  return { id, title, unit, better: "less", ...bounds };
}

function quick(row: Row): Row {
  return { ...row, isQuick: true };
}

/** A load in which every text is new. */
function all(code: Code): Comparison {
  return { connections: 32, code, newEvery: 1 };
}
