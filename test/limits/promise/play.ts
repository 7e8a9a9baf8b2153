import assert from "node:assert/strict";

import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { Charge, Decision } from "../../../src/limits/store.ts";
import type { Limits, LimitVector } from "../../../src/limits/windows.ts";
import { NaiveLog, type Restarting, type StoreTime, WINDOWS } from "./naive.ts";
import type { Scenario, Step } from "./scenario.ts";

/** Plays a scenario against a store and beside it against the naive log, and compares every word of every decision. */
export async function play(under: Restarting, time: StoreTime, scenario: Scenario, name: string): Promise<void> {
  // From a clock that was set back to one that goes: what failed before does not change what fails now.
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
  /** A decision is made when it is asked for and answered when it is written. Both are compared then, to be quick. */
  #asked: { decision: Promise<Decision>; expected: Decision }[] = [];

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

  /** Holds what was answered against what the naive log says. */
  async compare(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    const made = await Promise.all(asked.map(({ decision }) => decision));
    for (const [at, { expected }] of asked.entries()) {
      if (!isSame(made[at]!, expected)) assert.deepEqual(made[at], expected);
    }
  }

  #run(container: string, subject: LimitSubject): Decision {
    const expected = this.#naive.decide(this.#charges(container, subject), this.#time.now());
    this.#asked.push({ decision: this.#limiter.admit(container, subject), expected });
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
    // What counts nowhere any more may be gone already; then nothing changes.
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

  /** Written down anew from the contract: the smallest limit holds, and a run counts against the tokens above it too. */
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

/** As `deepEqual`, which would take most of the test's time. */
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
