import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

import { TestRegistry } from "../../test/builder/test-registry.ts";
import { request } from "../../test/contract/http.ts";
import { type Bench, MANY_CONTAINERS } from "../bench.ts";
import { Times } from "../figures.ts";
import { timeRun } from "../load/run.ts";
import { load } from "../load/wrk.ts";
import type { MeasuredService } from "../processes.ts";
import type { Round } from "../row.ts";
import { inTurns } from "./compare.ts";

/** The packages of the first build. */
const NAMES = ["zod", "lodash", "date-fns"];
const SAMPLES = 20;
const QUICK_SAMPLES = 8;
/** The time until the pool is full again. The first import of zod in a guest uses the processor, too. */
const REFILL_MS = 300;
/** Guests that import zod before the measurement: the first one makes the service keep its code cache. */
const UNMEASURED = 4;
const FLAGS = [
  ...MANY_CONTAINERS,
  "--token-containers",
  "64",
  "--idle-limit",
  "5s",
  "--npm",
  "any",
  "--npm-min-age",
  "0s",
];

const PLAIN = 'export default () => "a"';
/** Warm runs import zod and do not use it, so that only the packages differ. */
const WARM_PLAIN = "export default () => typeof 1";
const WARM_ZOD = 'import { z } from "npm:zod@4"; export default () => typeof z';
const WITH_ZOD = 'import { z } from "npm:zod@4"; export default () => z.string().parse("a")';

/**
 * Measures what packages cost: the first build of a set from a registry on this machine, the first run of a guest that imports zod
 * against one that imports nothing, and warm runs of both.
 */
export async function measurePackages(bench: Bench): Promise<Round> {
  const registry = await realRegistry();
  try {
    await using service = await bench.service(...FLAGS, "--npm-registry", registry.url.href);
    const buildMs = await timeBuild(service);
    for (let at = 0; at < UNMEASURED; at++) {
      await timeRun(service, `unmeasured-${at}`, WITH_ZOD);
      await setTimeout(REFILL_MS);
    }
    return { buildMs, ...(await measureFirst(bench, service)), ...(await measureWarm(bench, service)) };
  } finally {
    registry.close();
  }
}

/** Opens a registry with the archives of npm's registry, which npm fetches or has in its cache. */
async function realRegistry(): Promise<TestRegistry> {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-packages-"));
  const words = ["pack", ...NAMES, "--json", "--silent", "--prefer-offline", "--pack-destination", folder.path];
  const { stdout } = await promisify(execFile)("npm", words, { cwd: folder.path });
  const registry = await TestRegistry.open();
  for (const { name, version, filename } of JSON.parse(stdout) as Record<string, string>[]) {
    const tarball = await readFile(path.join(folder.path, filename!));
    registry.publish(name!, version!, {}, { tarball });
  }
  return registry;
}

async function timeBuild({ url, token }: MeasuredService): Promise<number> {
  const json = { packages: Object.fromEntries(NAMES.map((name) => [name, "*"])) };
  const startedMs = performance.now();
  const answer = await request(Number(new URL(url).port), "POST", "/api/packages/warm", { token, json });
  if (answer.status !== 200) throw new Error(`a build received ${answer.status}: ${answer.text}`);
  return performance.now() - startedMs;
}

/** Times first runs in new guests, with zod and without it in turns. */
async function measureFirst({ isQuick }: Bench, service: MeasuredService): Promise<Round> {
  const [withZod, plain] = [new Times(), new Times()];
  for (let at = 0; at < (isQuick ? QUICK_SAMPLES : SAMPLES); at++) {
    for (const [times, code, name] of [
      [plain, PLAIN, "plain"],
      [withZod, WITH_ZOD, "zod"],
    ] as const) {
      await setTimeout(REFILL_MS);
      const { ms, start } = await timeRun(service, `${name}-${at}`, code);
      if (start === "new") times.add(ms);
    }
  }
  const [firstMs, plainMs] = [withZod.percentile(0.5), plain.percentile(0.5)];
  return { firstMs, plainMs, addedMs: firstMs - plainMs, samples: withZod.count };
}

/** Loads a warm guest with packages, and one without. */
async function measureWarm({ seconds, round }: Bench, { url, token }: MeasuredService): Promise<Round> {
  const loadOf = (code: string, name: string, connections: number): ReturnType<typeof load> => {
    return load(url, { connections, seconds, token, code, prefix: `/api/run/warm-${name}` });
  };
  for (const [code, name] of [
    [WARM_PLAIN, "plain"],
    [WARM_ZOD, "zod"],
  ] as const) {
    await load(url, { connections: 8, seconds: 1, token, code, prefix: `/api/run/warm-${name}` });
  }
  const [own, plain] = await inTurns(
    round,
    () => loadOf(WARM_ZOD, "zod", 32),
    () => loadOf(WARM_PLAIN, "plain", 32),
  );
  const [ownOne, plainOne] = await inTurns(
    round,
    () => loadOf(WARM_ZOD, "zod", 1),
    () => loadOf(WARM_PLAIN, "plain", 1),
  );
  return {
    warmRatio: own.requestsPerSecond / plain.requestsPerSecond,
    perSecond: own.requestsPerSecond,
    plainPerSecond: plain.requestsPerSecond,
    lockMs: ownOne.p50Ms - plainOne.p50Ms,
  };
}
