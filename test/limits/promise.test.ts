import assert from "node:assert/strict";
import { it } from "node:test";

import * as fc from "fast-check";

import { Limiter, type Decision, type Holder } from "../../src/limits/limiter.ts";
import type { EmbeddedStore } from "../../src/limits/stores/embedded.ts";
import { limitVector, WINDOW_MS, WINDOW_NAMES, type Limits, type LimitVector } from "../../src/limits/windows.ts";
import { failOnError, HandClock, inFolder, withStore } from "./stores/folder.ts";

/** Every run that was admitted, by key. It knows nothing of lists, cells or journals. */
class NaiveLog {
  readonly #times = new Map<string, number[]>();

  admit(keys: readonly string[], now: number): void {
    for (const key of keys) this.#times.set(key, [...this.times(key), now]);
  }

  times(key: string): readonly number[] {
    return this.#times.get(key) ?? [];
  }

  /** In the half-open window that ends with `now`. */
  used(key: string, windowMs: number, now: number): number {
    return this.times(key).filter((time) => time > now - windowMs).length;
  }
}

interface Step {
  passMs: number;
  token: number;
  container: number;
  /** Before this step the limits of the token change. */
  change: { container: Limits; token: Limits } | undefined;
  /** When refused, whether the step checks the wait by waiting for it. */
  waits: boolean;
}

const limits: fc.Arbitrary<Limits> = fc.dictionary(
  fc.constantFrom(...WINDOW_NAMES),
  fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.integer({ min: 5, max: 40 })),
  { maxKeys: 3 },
);

const step: fc.Arbitrary<Step> = fc.record({
  passMs: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 0, 1) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 700 }) },
    { weight: 2, arbitrary: fc.constantFrom(999, 1_000, 1_001, 59_999, 60_000, 60_001) },
    fc.constantFrom(...WINDOW_MS.flatMap((windowMs) => [windowMs - 1, windowMs, Math.floor(windowMs / 3)])),
  ),
  token: fc.nat({ max: 2 }),
  container: fc.nat({ max: 1 }),
  change: fc.option(fc.record({ container: limits, token: limits }), { freq: 12, nil: undefined }),
  waits: fc.boolean(),
});

const scenario = fc.record({
  tokens: fc.tuple(
    ...Array.from({ length: 3 }, () => fc.record({ container: limits, token: limits, child: fc.boolean() })),
  ),
  defaults: fc.record({ container: fc.constant<Limits>({}), token: fc.oneof(fc.constant<Limits>({}), limits) }),
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
});

it(
  "admits exactly what a perfect log admits, in every one of 20 000 random scenarios",
  { timeout: 120_000 },
  async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      await withStore(folder, { clock, onError: failOnError }, async (store) => {
        let scenarios = 0;
        const property = fc.asyncProperty(scenario, (made) => run(store, clock, made, `${scenarios++}`));
        await fc.assert(property, { numRuns: 20_000 });
      });
    });
  },
);

async function run(
  store: EmbeddedStore,
  clock: HandClock,
  { tokens, defaults, steps }: typeof scenario extends fc.Arbitrary<infer Made> ? Made : never,
  name: string,
): Promise<void> {
  const limiter = new Limiter(store, defaults);
  const naive = new NaiveLog();
  // Each token that is a child stands below all that come before it.
  const holders: Holder[] = [];
  for (const { container, token, child } of tokens) {
    const parents = child ? holders.map((above) => ({ jti: above.jti, limits: above.limits.token })) : [];
    holders.push({ jti: `${name} token ${holders.length}`, limits: { container, token }, parents });
  }
  for (const { passMs, token, container, change, waits } of steps) {
    clock.time += passMs;
    if (change) holders[token] = { ...holders[token]!, limits: change };
    const holder = holders[token]!;
    const check = new Check(limiter, clock, naive, `${name} container ${container}`, holder, defaults);
    const decision = await check.admit();
    if (waits && !decision.admitted) await check.waitOut(decision);
  }
}

/** One token in one container: does what the limiter does, by the naive log, and compares. */
class Check {
  readonly #limiter: Limiter;
  readonly #clock: HandClock;
  readonly #naive: NaiveLog;
  readonly #container: string;
  readonly #holder: Holder;
  readonly #keys: readonly { key: string; limits: LimitVector }[];

  constructor(
    limiter: Limiter,
    clock: HandClock,
    naive: NaiveLog,
    container: string,
    holder: Holder,
    defaults: { container: Limits; token: Limits },
  ) {
    this.#limiter = limiter;
    this.#clock = clock;
    this.#naive = naive;
    this.#container = container;
    this.#holder = holder;
    this.#keys = [
      { key: container, limits: limitVector(defaults.container, holder.limits.container) },
      ...[{ jti: holder.jti, limits: holder.limits.token }, ...holder.parents].map((token) => ({
        key: token.jti,
        limits: limitVector(defaults.token, token.limits),
      })),
    ];
  }

  async admit(): Promise<Decision> {
    const before = this.#remaining();
    const decision = await this.#limiter.admit(this.#container, this.#holder);
    const fits = before.flat().every((left) => left > 0);
    assert.equal(decision.admitted, fits, "as the naive log decides");
    if (fits) {
      this.#naive.admit(
        this.#keys.map(({ key }) => key),
        this.#clock.time,
      );
    }
    const shown = decision.usage.map(({ limits: tracked, remaining }) => remaining.filter((_, at) => tracked[at]! > 0));
    assert.deepEqual(shown, this.#remaining(), "what is left, which a refusal leaves as it was");
    return decision;
  }

  /** A retry after the wait is admitted, and refused one millisecond earlier. */
  async waitOut({ retryAfterMs, violations }: Decision): Promise<void> {
    assert.ok(retryAfterMs > 0 && violations.length > 0);
    this.#clock.time += retryAfterMs - 1;
    assert.equal((await this.admit()).retryAfterMs, 1);
    this.#clock.time += 1;
    assert.equal((await this.admit()).admitted, true);
  }

  /** What is left of the tracked windows of each key. */
  #remaining(): number[][] {
    return this.#keys.map(({ key, limits: tracked }) =>
      WINDOW_MS.flatMap((windowMs, at) => {
        const limit = tracked[at]!;
        return limit > 0 ? [Math.max(0, limit - this.#naive.used(key, windowMs, this.#clock.time))] : [];
      }),
    );
  }
}
