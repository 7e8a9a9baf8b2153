import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";

import * as fc from "fast-check";

import type { Charge } from "../../src/limits/store.ts";
import type { Limits } from "../../src/limits/windows.ts";
import { NaiveLog, WINDOWS } from "../limits/promise/naive.ts";
import { limits } from "../limits/promise/scenario.ts";
import { isLong } from "../long.ts";
import { missing, type RedisServer, startRedis } from "../redis/server.ts";
import { HAND_KEY } from "./hand-time.ts";
import type { Answer } from "./http.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const START_MS = 1_700_000_000_000;
const BUDGET_MS = isLong ? 600_000 : 10_000;
const CONTAINERS = ["one", "other"];
/** The nodes that receive the runs of a step, in turns. */
const NODES = [[0], [1], [0, 1]] as const;

const edges = WINDOWS.flatMap(([, lengthMs]) => [lengthMs - 1, lengthMs]);
const step = fc.record({
  passMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 700 }) },
    { weight: 1, arbitrary: fc.constantFrom(...edges) },
  ),
  act: fc.oneof({ weight: 9, arbitrary: fc.constant("run") }, fc.constant("reset")),
  token: fc.nat({ max: 2 }),
  container: fc.constantFrom(...CONTAINERS),
  runs: fc.integer({ min: 1, max: 8 }),
  nodes: fc.constantFrom(...NODES),
  waits: fc.boolean(),
});
/** A token with `child` is below the previous token, and has its container limits. */
const token = fc.record({ container: limits, token: limits, child: fc.boolean() });
const scenario = fc.record({
  tokens: fc.tuple(token, token, token),
  steps: fc.array(step, { minLength: 1, maxLength: 12 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

interface Issued {
  readonly text: string;
  readonly container: Limits;
  /** The token, and the tokens above it. */
  readonly line: readonly { readonly jti: string; readonly limits: Limits }[];
}

/** The part of an answer to a run that is about limits. */
interface Verdict {
  readonly admitted: boolean;
  readonly retryAfterMs: number;
  readonly violations: readonly unknown[];
}

describe("two nodes on one Redis with a controlled clock", { skip: await missing("redis-server") }, () => {
  let redis: RedisServer;
  const homes: Home[] = [];
  const nodes: Service[] = [];
  let now = START_MS;
  /**
   * The number of scenarios that were given up, because a delayed node gave up a decision. Redis may still count that run
   * later, so the next scenario has other containers.
   */
  let givenUp = 0;
  const nameOf = (container: string): string => (givenUp === 0 ? container : `${container}-${givenUp}`);

  before(async () => {
    redis = await startRedis();
    await redis.client.set(HAND_KEY, now);
    const nodeOptions = `--import=${pathToFileURL(path.join(import.meta.dirname, "hand-time.ts")).href}`;
    for (let node = 0; node < 2; node++) {
      const home = { ...(await makeHome()), nodeOptions, fromSource: true };
      homes.push(home);
      const keys = path.join(home.data, "../shared-keys.json");
      if (node === 1) await copyFile(path.join(homes[0]!.data, "keys.json"), keys);
      const flags = [...NO_WALL, "--redis", redis.url, "--pool", "1", ...(node === 1 ? ["--keys", keys] : [])];
      nodes.push(await startService(flags, home));
    }
  });

  after(async () => {
    try {
      for (const node of nodes) await node.stop();
    } finally {
      for (const home of homes) await home[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    }
  });

  async function pass(ms: number): Promise<void> {
    now += ms;
    await redis.client.set(HAND_KEY, now);
  }

  async function issue(tokens: Scenario["tokens"]): Promise<Issued[]> {
    const issued: Issued[] = [];
    for (const { container, token: own, child } of tokens) {
      const above = child ? issued.at(-1) : undefined;
      const claims = {
        containers: CONTAINERS.map(nameOf),
        can: ["run", "limits", "issue"],
        depth: 3 - issued.length,
        limits: above ? { token: own } : { container, token: own },
      };
      const answer = await nodes[issued.length % 2]!.request("POST", "/api/tokens", {
        json: claims,
        ...(above ? { token: above.text } : {}),
      });
      assert.equal(answer.status, 201, answer.text);
      const { token: text, jti } = answer.json() as { token: string; jti: string };
      const line = [{ jti, limits: own }, ...(above?.line ?? [])];
      issued.push({ text, container: above?.container ?? container, line });
    }
    return issued;
  }

  async function runScenario({ tokens, steps }: Scenario): Promise<void> {
    const naive = new NaiveLog();
    for (const container of CONTAINERS) await reset(nameOf(container));
    const issued = await issue(tokens);
    for (const each of steps) {
      await pass(each.passMs);
      if (each.act === "run") await run(naive, each, issued[each.token]!);
      else {
        await reset(nameOf(each.container));
        naive.clear(`c:${nameOf(each.container)}`);
      }
    }
    for (const subject of issued) {
      for (const container of CONTAINERS) await compareDetails(naive, nameOf(container), subject);
    }
  }

  async function reset(container: string): Promise<void> {
    const answer = await nodes[0]!.request("DELETE", `/api/limits/container/${container}`);
    giveUpUnknown(answer);
    assert.ok(answer.status < 300, answer.text);
  }

  async function run(
    naive: NaiveLog,
    { container: base, runs, nodes: asked, waits }: Step,
    subject: Issued,
  ): Promise<void> {
    const container = nameOf(base);
    const charges = chargesOf(container, subject);
    /** Sends runs at once. Their order is not known and does not matter, because they are equal. */
    const ask = async (count: number): Promise<Verdict[]> => {
      const expected = Array.from({ length: count }, () => verdictOf(naive.decide(charges, now)));
      const answers = await Promise.all(
        Array.from({ length: count }, (_, at) =>
          nodes[asked[at % asked.length]!]!.run(container, "1", { token: subject.text }),
        ),
      );
      answers.forEach(giveUpUnknown);
      assert.deepEqual(answers.map(answered).toSorted(byText), expected.toSorted(byText));
      return expected;
    };
    const refused = (await ask(runs)).find(({ admitted }) => !admitted);
    if (!refused || !waits) return;
    await pass(refused.retryAfterMs - 1);
    const [early] = await ask(1);
    assert.deepEqual([early!.admitted, early!.retryAfterMs], [false, 1]);
    await pass(1);
    const [then] = await ask(1);
    assert.equal(then!.admitted, true);
  }

  async function compareDetails(naive: NaiveLog, container: string, subject: Issued): Promise<void> {
    const [ofContainer, ofToken] = chargesOf(container, subject);
    const targets = [
      [`/api/limits/container/${container}?detail=true`, ofContainer!],
      [`/api/limits/token/${subject.line[0]!.jti}?detail=true`, ofToken!],
    ] as const;
    for (const [target, charge] of targets) {
      const expected = detailOf(naive, charge, now);
      for (const node of nodes) {
        const answer = await node.request("GET", target, { token: subject.text });
        giveUpUnknown(answer);
        assert.deepEqual(withoutOrigins(answer.json() as Windows), expected, target);
      }
    }
  }

  it("decide like a list of every run, whichever node receives the run, or both at once", async (context: TestContext) => {
    let scenarios = 0;
    const property = fc.asyncProperty(scenario, async (made) => {
      await until(async () => (await healths()).every((status) => status === 200), "both nodes take runs");
      await runScenario(made);
      scenarios++;
    });
    await fc.assert(property, {
      numRuns: isLong ? 2_000 : 30,
      interruptAfterTimeLimit: BUDGET_MS,
    });
    context.diagnostic(`${scenarios} scenarios`);
    assert.ok(scenarios > 0);
  });

  /** Gives up the scenario if a node gave up a decision. Whether that run counts is not known. */
  function giveUpUnknown({ status }: Answer): void {
    if (status === 503) givenUp++;
    fc.pre(status !== 503);
  }

  async function healths(): Promise<number[]> {
    return Promise.all(nodes.map(async (node) => (await node.request("GET", "/healthz")).status));
  }
});

function vector(byWindow: Limits): number[] {
  return WINDOWS.map(([window]) => byWindow[window] ?? 0);
}

function chargesOf(container: string, { container: limitsOfContainer, line }: Issued): Charge[] {
  return [
    { key: `c:${container}`, class: "container", limits: vector(limitsOfContainer) },
    ...line.map(({ jti, limits: own }) => ({ key: `t:${jti}`, class: "token" as const, limits: vector(own) })),
  ];
}

function verdictOf({ admitted, retryAfterMs, violations }: Verdict): Verdict {
  return { admitted, retryAfterMs, violations: violations.toSorted(byText) };
}

function answered(answer: Answer): Verdict {
  if (answer.status === 200) return { admitted: true, retryAfterMs: 0, violations: [] };
  assert.equal(answer.status, 429, answer.text);
  const { retryAfterMs, violations } = answer.json() as { retryAfterMs: number; violations: Record<string, unknown>[] };
  // Another test holds the answers to where their limits were set.
  const bare = violations.map(({ setBy: _setBy, jti: _jti, ...violation }) => violation);
  return verdictOf({ admitted: false, retryAfterMs, violations: bare });
}

type Windows = Record<string, Record<string, unknown>>;

/** Removes where each limit was set, to which another test holds the answers. */
function withoutOrigins(windows: Windows): Windows {
  const entries = Object.entries(windows).map(([name, { setBy: _setBy, jti: _jti, ...rest }]) => [name, rest] as const);
  return Object.fromEntries(entries);
}

function detailOf(naive: NaiveLog, charge: Charge, now: number): object {
  const { remaining, resetMs } = naive.usage(charge, now);
  const windows = WINDOWS.map(([name, lengthMs], window) => {
    const used = naive.used(charge.key, lengthMs, now);
    const limit = charge.limits[window] || null;
    const known =
      limit === null
        ? { remaining: null, resetSeconds: null }
        : {
            remaining: remaining[window],
            resetSeconds: Math.ceil(resetMs[window]! / 1_000),
          };
    return [name, { limit, used, ...known }] as const;
  });
  return Object.fromEntries(windows);
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
