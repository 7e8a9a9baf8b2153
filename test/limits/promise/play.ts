import assert from "node:assert/strict";

import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Charge, Decision } from "../../../src/limits/store.ts";
import type { Limits, LimitVector } from "../../../src/limits/windows.ts";
import { NaiveLog, type Restarting, type StoreTime, WINDOWS } from "./naive.ts";
import type { Scenario, Step } from "./scenario.ts";

/** Runs a scenario against a store and against the naive log, and compares every member of every decision. */
export async function play(under: Restarting, time: StoreTime, scenario: Scenario, name: string): Promise<void> {
  // The clock runs again after an earlier scenario that set it back, so that its failure does not change this one.
  time.pass(1);
  const player = new Player(under, time, scenario, name);
  for (const step of scenario.steps) await player.step(step);
  await player.compare();
}

class Player {
  readonly #under: Restarting;
  readonly #time: StoreTime;
  readonly #defaults: Scenario["defaults"];
  readonly #name: string;
  readonly #naive = new NaiveLog();
  readonly #subjects: LimitSubject[] = [];
  #limiter: Limiter;
  /** The store decides at once and answers after the write. Answers are compared in one batch, which is faster. */
  #pending: { decision: Promise<Decision>; expected: Decision }[] = [];

  constructor(under: Restarting, time: StoreTime, { tokens, defaults }: Scenario, name: string) {
    this.#under = under;
    this.#time = time;
    this.#defaults = defaults;
    this.#name = name;
    this.#limiter = new Limiter(under.store, defaults);
    for (const { container, token, child } of tokens) {
      const above = child ? this.#subjects.map(({ jti, limits }) => ({ jti, limits: limits.token })) : [];
      this.#subjects.push(new LimitSubject(`${name} token ${this.#subjects.length}`, { container, token }, above));
    }
  }

  async step({ passMs, token, container, act, runs, change, waits }: Step): Promise<void> {
    this.#time.clock.time += passMs;
    if (act === "restart") return this.#restart();
    if (change) {
      const { jti, ancestors } = this.#subjects[token]!;
      this.#subjects[token] = new LimitSubject(jti, change, ancestors);
    }
    const subject = this.#subjects[token]!;
    const name = `${this.#name} container ${container}`;
    if (act !== "run") return this.#reset(act, name, subject);
    for (let run = 0; run < runs; run++) {
      const { admitted, retryAfterMs } = this.#run(name, subject);
      if (admitted || !waits) continue;
      this.#time.pass(retryAfterMs - 1);
      const early = this.#run(name, subject);
      assert.deepEqual([early.admitted, early.retryAfterMs], [false, 1]);
      this.#time.pass(1);
      assert.ok(this.#run(name, subject).admitted);
    }
    return undefined;
  }

  /** Compares the store's answers with those of the naive log. */
  async compare(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    const decisions = await Promise.all(pending.map(({ decision }) => decision));
    for (const [at, { expected }] of pending.entries()) {
      if (!isSame(decisions[at]!, expected)) assert.deepEqual(decisions[at], expected);
    }
  }

  #run(container: string, subject: LimitSubject): Decision {
    const expected = this.#naive.decide(this.#charges(container, subject), this.#time.now());
    this.#pending.push({ decision: this.#limiter.admit(container, subject), expected });
    if (expected.admitted) this.#time.changed();
    return expected;
  }

  async #reset(act: "reset container" | "reset token", name: string, subject: LimitSubject): Promise<void> {
    const [container, token] = this.#charges(name, subject);
    const charge = act === "reset container" ? container! : token!;
    const now = this.#time.now();
    const used = WINDOWS.map(([, lengthMs]) => this.#naive.used(charge.key, lengthMs, now));
    const { limits } = subject;
    const reading =
      charge === token ? this.#limiter.token(subject.jti, limits.token) : this.#limiter.container(name, subject);
    assert.deepEqual(await reading, { ...this.#naive.usage(charge, now), used });
    // The store may already have dropped a key without counts. A reset then changes nothing.
    if (used.at(-1) === 0) return;
    this.#naive.clear(charge.key);
    this.#time.changed();
    await (charge === token ? this.#limiter.resetToken(subject.jti) : this.#limiter.resetContainer(name));
  }

  async #restart(): Promise<void> {
    await this.compare();
    await this.#under.restart();
    this.#time.restarted();
    this.#limiter = new Limiter(this.#under.store, this.#defaults);
  }

  /** Implements the contract again: the lowest limit applies, and a run also counts against the tokens above it. */
  #charges(container: string, { jti, limits, ancestors }: LimitSubject): Charge[] {
    const token = (each: string, own: Limits | undefined): Charge => {
      return { key: `t:${each}`, class: "token", limits: smallest(this.#defaults.token, own) };
    };
    return [
      { key: `c:${container}`, class: "container", limits: smallest(this.#defaults.container, limits.container) },
      token(jti, limits.token),
      ...ancestors.map((parent) => token(parent.jti, parent.limits)),
    ];
  }
}

function smallest(one: Limits, other: Limits | undefined): LimitVector {
  return WINDOWS.map(([window]) => {
    const least = Math.min(one[window] ?? Infinity, other?.[window] ?? Infinity);
    return least === Infinity ? 0 : least;
  });
}

/** Compares like `deepEqual`, which would take most of the test's time. */
function isSame(one: Decision, other: Decision): boolean {
  if (one.admitted !== other.admitted || one.retryAfterMs !== other.retryAfterMs) return false;
  if (one.usage.length !== other.usage.length || one.violations.length !== other.violations.length) return false;
  return (
    one.usage.every((usage, at) => {
      const { class: keyClass, limits, remaining, resetMs } = other.usage[at]!;
      if (usage.class !== keyClass) return false;
      const same = (window: number): boolean =>
        usage.limits[window] === limits[window] &&
        usage.remaining[window] === remaining[window] &&
        usage.resetMs[window] === resetMs[window];
      return same(0) && same(1) && same(2) && same(3) && same(4) && same(5);
    }) &&
    one.violations.every((violation, at) => {
      const { class: keyClass, window, limit, remaining, retryAfterMs } = other.violations[at]!;
      return (
        violation.class === keyClass &&
        violation.window === window &&
        violation.limit === limit &&
        violation.remaining === remaining &&
        violation.retryAfterMs === retryAfterMs
      );
    })
  );
}
