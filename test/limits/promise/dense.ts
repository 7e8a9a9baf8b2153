import assert from "node:assert/strict";

import * as fc from "fast-check";

import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Decision } from "../../../src/limits/store.ts";
import type { Limits } from "../../../src/limits/windows.ts";
import { NaiveLog, type Restarting, type StoreTime, WINDOWS } from "./naive.ts";

/** Many runs, so that the log must merge entries: then it may be late, and must not be early. */
export interface Dense {
  readonly container: Limits;
  readonly token: Limits;
  readonly parent: Limits;
  readonly phases: readonly Phase[];
}

interface Phase {
  /** The longest pause between two runs. */
  readonly scaleMs: number;
  readonly runs: number;
  /** Makes the pauses. */
  readonly seed: number;
  /** Before the phase the store is closed and opened. */
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

/** A key, and what it allows. */
interface Key {
  readonly name: string;
  readonly limits: Limits;
}

/** Fails at a run more than any interval may hold, and at a refusal that W/64 cannot excuse. */
export async function playDense(under: Restarting, time: StoreTime, made: Dense): Promise<void> {
  const keys = [
    { name: "container", limits: made.container },
    { name: "token", limits: made.token },
    { name: "parent", limits: made.parent },
  ];
  const check = new DenseCheck(keys);
  const parents = [{ jti: "parent", limits: made.parent }];
  const subject = new LimitSubject("token", { container: made.container, token: made.token }, parents);
  for (const phase of made.phases) {
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

/** All are asked for first and answered then: one write for all of them. */
async function runPhase(
  limiter: Limiter,
  subject: LimitSubject,
  time: StoreTime,
  { scaleMs, runs, seed }: Phase,
  check: DenseCheck,
): Promise<void> {
  const asked: [number, Promise<Decision>][] = [];
  for (let run = 0; run < runs; run++) {
    // Spread evenly over the scale, and nowhere periodic.
    time.pass(Math.round(scaleMs * (((run + seed) * 0.618_033_988_749) % 1)));
    asked.push([time.now(), limiter.admit("container", subject)]);
  }
  for (const [now, decision] of asked) {
    const made = await decision;
    check.hold(made, now);
    if (made.admitted) time.changed(now);
  }
}

/** What is said to be left is left. */
async function spendTheRest(run: () => Promise<Decision>): Promise<void> {
  const { admitted, usage } = await run();
  if (!admitted) return;
  const left = usage.flatMap((key) => key.remaining.filter((_, window) => key.limits[window]! > 0));
  const runs = Math.min(...left);
  if (runs > EXACT) return;
  for (let spent = 0; spent < runs; spent++) assert.ok((await run()).admitted, `${spent} of ${runs} that were left`);
  assert.ok(!(await run()).admitted, `more than the ${runs} that were left`);
}

/** Also a late release is told exactly. */
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
        // One that was never crowded while its runs were in it is exact.
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
