import assert from "node:assert/strict";

import * as fc from "fast-check";

import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Decision } from "../../../src/limits/store.ts";
import type { Limits } from "../../../src/limits/windows.ts";
import { NaiveLog, type Restarting, type StoreTime, WINDOWS } from "./naive.ts";

/** A scenario with so many runs that the log must merge entries. It may then release runs late, but not early. */
export interface Dense {
  readonly container: Limits;
  readonly token: Limits;
  readonly parent: Limits;
  readonly phases: readonly Phase[];
}

interface Phase {
  /** The longest pause between two runs, in milliseconds. */
  readonly scaleMs: number;
  readonly runs: number;
  /** The seed of the pauses. */
  readonly seed: number;
  /** Whether the store is closed and opened before the phase. */
  readonly restart: boolean;
}

const CELLS = 64;
const EXACT = 128;

const limits: fc.Arbitrary<Limits> = fc.dictionary(
  fc.constantFrom(...WINDOWS.map(([name]) => name)),
  fc.oneof(fc.integer({ min: 1, max: EXACT + 2 }), fc.integer({ min: 100, max: 2_500 })),
  { maxKeys: 2 },
);

export const dense: fc.Arbitrary<Dense> = fc.record({
  container: limits,
  token: limits,
  parent: limits,
  phases: fc.array(
    fc.record({
      scaleMs: fc.constantFrom(0, 1, 3, 20, 500, 9_000, 200_000, 3_000_000, 40_000_000),
      runs: fc.integer({ min: 1, max: 900 }),
      seed: fc.nat({ max: 1_000 }),
      restart: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
    }),
    { minLength: 1, maxLength: 6, size: "max" },
  ),
});

/** A key and its limits. */
interface Key {
  readonly name: string;
  readonly limits: Limits;
}

/** Fails at a run above the limit of any interval, and at a refusal that a delay of W/64 does not explain. */
export async function playDense(under: Restarting, time: StoreTime, scenario: Dense): Promise<void> {
  const keys = [
    { name: "container", limits: scenario.container },
    { name: "token", limits: scenario.token },
    { name: "parent", limits: scenario.parent },
  ];
  const check = new DenseCheck(keys);
  const parents = [{ jti: "parent", limits: scenario.parent }];
  const subject = new LimitSubject("token", { container: scenario.container, token: scenario.token }, parents);
  for (const phase of scenario.phases) {
    if (phase.restart) {
      await under.restart();
      time.restarted();
    }
    const limiter = new Limiter(under.store, { container: {}, token: {} });
    const run = async (): Promise<Decision> => {
      const now = time.now();
      const decision = await limiter.admit("container", subject);
      check.hold(decision, now);
      if (decision.admitted) time.changed();
      return decision;
    };
    await runPhase(limiter, subject, time, phase, check);
    await spendTheRest(run);
    await waitOut(run, time);
  }
}

/** Requests all runs before any is answered, so that the store writes them together. */
async function runPhase(
  limiter: Limiter,
  subject: LimitSubject,
  time: StoreTime,
  { scaleMs, runs, seed }: Phase,
  check: DenseCheck,
): Promise<void> {
  const requested: [number, Promise<Decision>][] = [];
  for (let run = 0; run < runs; run++) {
    // Pauses are spread evenly over the scale, without a period.
    time.pass(Math.round(scaleMs * (((run + seed) * 0.618_033_988_749) % 1)));
    requested.push([time.now(), limiter.admit("container", subject)]);
  }
  for (const [now, decision] of requested) {
    const decided = await decision;
    check.hold(decided, now);
    if (decided.admitted) time.changed(now);
  }
}

/** Admits exactly the number of runs that the store reported as left. */
async function spendTheRest(run: () => Promise<Decision>): Promise<void> {
  const { admitted, usage } = await run();
  if (!admitted) return;
  const left = usage.flatMap((key) => key.remaining.filter((_, window) => key.limits[window]! > 0));
  const runs = Math.min(...left);
  if (runs > EXACT) return;
  for (let spent = 0; spent < runs; spent++) assert.ok((await run()).admitted, `${spent} of ${runs} that were left`);
  assert.ok(!(await run()).admitted, `more than the ${runs} that were left`);
}

/** Checks that the reported wait is exact, even for a late release. */
async function waitOut(run: () => Promise<Decision>, time: StoreTime): Promise<void> {
  const refused = await run();
  if (refused.admitted) return;
  time.pass(refused.retryAfterMs - 1);
  const early = await run();
  assert.deepEqual([early.admitted, early.retryAfterMs], [false, 1]);
  time.pass(1);
  assert.ok((await run()).admitted);
}

class DenseCheck {
  readonly #keys: readonly Key[];
  readonly #naive = new NaiveLog();

  constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  hold({ admitted, usage }: Decision, now: number): void {
    if (admitted) for (const { name } of this.#keys) this.#naive.add(name, now);
    let excuse = false;
    for (const [at, { name, limits: allowed }] of this.#keys.entries()) {
      for (const [window, [windowName, lengthMs]] of WINDOWS.entries()) {
        const limit = allowed[windowName];
        if (limit === undefined) continue;
        const used = this.#naive.used(name, lengthMs, now);
        // // A window that was never full while its runs were in it is exact.
        const exact = this.#naive.used(name, 2 * lengthMs, now) <= EXACT;
        const late = exact ? used : this.#naive.used(name, lengthMs + lengthMs / CELLS, now);
        assert.ok(used <= limit, `${used} runs of a ${name} in a ${windowName} that allows ${limit}`);
        const left = usage[at]!.remaining[window]!;
        assert.ok(left <= limit - used, `${left} left of a ${name}'s ${windowName}, ${used} used of ${limit}`);
        assert.ok(left >= limit - late, `${left} left of a ${name}'s ${windowName}, ${late} used of ${limit}, late`);
        if (late >= limit) excuse = true;
      }
    }
    assert.ok(admitted || excuse, "refused, and every window has room");
  }
}
