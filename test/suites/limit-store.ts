import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Charge, Decision, KeyReading, KeyUsage, LimitStore } from "../../src/limits/store.ts";
import { limitVector, type Limits, LONGEST_MS } from "../../src/limits/windows.ts";
import { readOne } from "../limits/read-one.ts";

/** A store and its clock. */
export interface StoreUnderTest {
  store: LimitStore;
  /** Lets this many milliseconds pass for the store. */
  pass: (milliseconds: number) => Promise<void> | void;
  /** Closes the store and removes its data. */
  end: () => Promise<void>;
}

/** The promises of every limit store. The clock must stand still between calls of `pass`. */
export function limitStoreSuite(subject: string, open: () => Promise<StoreUnderTest>): void {
  const promise = (sentence: string, body: (under: StoreUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a limit store`, () => {
    promise("admits the limit and not one more", async ({ store }) => {
      assert.equal(await admitted(store, 12, charge("a", { minute: 10 })), 10);
    });

    promise("never admits two bursts in one window across an edge", async ({ store, pass }) => {
      await pass(59_900 - 1);
      assert.equal(await admitted(store, 10, charge("a", { minute: 10 })), 10);
      await pass(200);
      assert.equal(await admitted(store, 10, charge("a", { minute: 10 })), 0);
    });

    promise("admits nothing between a burst and the end of the window, however slow the requests", async (under) => {
      const { store, pass } = under;
      assert.equal(await admitted(store, 60, charge("a", { minute: 60 })), 60);
      for (let second = 1; second < 60; second++) {
        await pass(1_000);
        assert.equal(await admitted(store, 1, charge("a", { minute: 60 })), 0, `after ${second} s`);
      }
      await pass(1_000);
      assert.equal(await admitted(store, 61, charge("a", { minute: 60 })), 60);
    });

    promise("counts a run against all keys or against none", async ({ store }) => {
      const container = charge("c", { minute: 5 }, "container");
      const token = charge("t", { minute: 2 });
      assert.equal(await admitted(store, 4, container, token), 2);
      assert.equal(remaining(await readOne(store, container), 1), 3);
      const other = charge("o", { minute: 9 });
      assert.equal(await admitted(store, 9, container, other), 3);
      assert.equal(remaining(await readOne(store, other), 1), 6);
    });

    promise(
      "reports the exact wait, which is the longest of all violated windows, and each violation",
      async ({ store, pass }) => {
        const container = charge("c", { second: 1, hour: 2 }, "container");
        const token = charge("t", { minute: 2 });
        await admitOrFail(store, container, token);
        await pass(1_500);
        await admitOrFail(store, container, token);
        await pass(100);
        const refused = await store.admit([container, token]);
        assert.deepEqual(refused.violations, [
          { class: "container", window: "second", limit: 1, remaining: 0, retryAfterMs: 900 },
          { class: "container", window: "hour", limit: 2, remaining: 0, retryAfterMs: 3_598_400 },
          { class: "token", window: "minute", limit: 2, remaining: 0, retryAfterMs: 58_400 },
        ]);
        assert.equal(refused.retryAfterMs, 3_598_400);
        await pass(refused.retryAfterMs - 1);
        assert.equal((await store.admit([container, token])).retryAfterMs, 1);
        await pass(1);
        await admitOrFail(store, container, token);
      },
    );

    promise("reports what is left after the decision, and when it grows", async ({ store, pass }) => {
      const key = charge("a", { second: 3, day: 9 });
      assert.deepEqual(await readOne(store, key), unused(key, [3, 0, 0, 9, 0, 0]));
      await admitOrFail(store, key);
      await pass(400);
      const decision = await admitOrFail(store, key);
      assert.deepEqual(decision.usage, [usage(key, [1, 0, 0, 7, 0, 0], [600, 0, 0, 86_399_600, 0, 0])]);
      assert.deepEqual(await readOne(store, key), { ...decision.usage[0], used: [2, 2, 2, 2, 2, 2] });
    });

    promise("counts windows without limits, for limits that are set later", async ({ store, pass }) => {
      assert.equal(await admitted(store, 7, charge("a", {})), 7);
      const reading = await readOne(store, charge("a", { second: 10, month: 10 }));
      assert.deepEqual(
        [reading.remaining, reading.used],
        [
          [3, 0, 0, 0, 0, 3],
          [7, 7, 7, 7, 7, 7],
        ],
      );
      await pass(60_000);
      assert.deepEqual((await readOne(store, charge("a", {}))).used, [0, 0, 7, 7, 7, 7]);
    });

    promise("admits nothing after a limit was lowered below the use, until the use falls below it", async (under) => {
      const { store, pass } = under;
      for (let run = 0; run < 5; run++) {
        await admitOrFail(store, charge("a", { minute: 10 }));
        await pass(1_000);
      }
      const lowered = charge("a", { minute: 2 });
      const left = usage(lowered, [0, 0, 0, 0, 0, 0], [0, 58_000, 0, 0, 0, 0]);
      assert.deepEqual(await readOne(store, lowered), { ...left, used: [0, 5, 5, 5, 5, 5] });
      assert.equal((await store.admit([lowered])).retryAfterMs, 58_000);
      await pass(57_999);
      assert.equal(await admitted(store, 1, lowered), 0);
      await pass(1);
      assert.equal(await admitted(store, 2, lowered), 1);
    });

    promise("creates no state on a read or a refusal", async ({ store }) => {
      const empty = charge("a", { minute: 3 });
      const full = charge("b", { minute: 1 });
      await admitOrFail(store, full);
      for (let again = 0; again < 3; again++) {
        assert.equal(remaining(await readOne(store, empty), 1), 3);
        assert.equal((await store.admit([empty, full])).admitted, false);
      }
      assert.deepEqual(await readOne(store, empty), unused(empty, [0, 3, 0, 0, 0, 0]));
    });

    promise("resets all windows of one key at once, and no other key, on every request", async ({ store }) => {
      const limits = { second: 1, minute: 1, hour: 1, day: 1, week: 1, month: 1 };
      await admitOrFail(store, charge("a", limits), charge("b", limits));
      await store.reset("a");
      await store.reset("a");
      await store.reset("never used");
      assert.deepEqual((await readOne(store, charge("a", limits))).remaining, [1, 1, 1, 1, 1, 1]);
      assert.deepEqual((await readOne(store, charge("b", limits))).remaining, [0, 0, 0, 0, 0, 0]);
      assert.equal(await admitted(store, 2, charge("a", limits)), 1);
    });

    promise("keeps simultaneous requests in order", async ({ store }) => {
      const key = charge("a", { minute: 10 });
      const before = Array.from({ length: 15 }, () => store.admit([key]));
      const reset = store.reset("a");
      const after = Array.from({ length: 4 }, () => store.admit([key]));
      await reset;
      assert.equal((await Promise.all(before)).filter((decision) => decision.admitted).length, 10);
      assert.equal((await Promise.all(after)).filter((decision) => decision.admitted).length, 4);
      assert.equal(remaining(await readOne(store, key), 1), 6);
    });

    promise("separates names with any characters", async ({ store }) => {
      const names = ["{a}", "a", "A", "a\u0000", "ä", "__proto__", "constructor", "x".repeat(300), ""];
      for (const name of names) await admitOrFail(store, charge(name, { day: 1 }));
      for (const name of names) assert.equal(await admitted(store, 1, charge(name, { day: 1 })), 0, name);
    });

    promise("lists the keys that count a run by prefix, page by page in order", async ({ store, pass }) => {
      await admitOrFail(store, charge("c:gone", {}));
      await pass(LONGEST_MS - 1_000);
      await admitOrFail(store, charge("t:b", {}));
      for (const name of ["b", "a", "C", "b2", "_", "b"]) await admitOrFail(store, charge(`c:${name}`, {}));
      await store.reset("c:b2");
      await readOne(store, charge("c:read", { day: 1 }));
      assert.deepEqual(await store.keys(["c:"], "c:", 2), ["c:C", "c:_"]);
      assert.deepEqual(await store.keys(["c:"], "c:_", 9), ["c:a", "c:b", "c:gone"]);
      await pass(1_000);
      assert.deepEqual(await store.keys(["c:"], "c:a", 9), ["c:b"]);
      assert.deepEqual(await store.keys(["c:"], "c:b", 9), []);
      assert.deepEqual(await store.keys(["t:"], "t:", 9), ["t:b"]);
    });

    promise("lists the keys of several prefixes as one list, each once and in order", async ({ store }) => {
      for (const name of ["acme", "acme-", "acme-1", "acme-2", "acmf", "b", "b1", "z"]) {
        await admitOrFail(store, charge(`c:${name}`, {}));
      }
      const prefixes = ["c:z", "c:b", "c:acme-1", "c:acme-", "c:nothing"];
      const all = ["c:acme-", "c:acme-1", "c:acme-2", "c:b", "c:b1", "c:z"];
      assert.deepEqual(await store.keys(prefixes, "c:", 9), all);
      for (const size of [1, 2, 4]) {
        const seen: string[] = [];
        for (let after = "c:"; ; after = seen.at(-1)!) {
          const page = await store.keys(prefixes, after, size);
          if (page.length === 0) break;
          assert.ok(page.length <= size);
          seen.push(...page);
        }
        assert.deepEqual(seen, all);
      }
      assert.deepEqual(await store.keys([], "c:", 9), []);
    });

    promise(
      "never exceeds the limit and has 64/65 of the throughput when a window has more runs than it keeps unmerged",
      async (under) => {
        const { store, pass } = under;
        const key = charge("a", { minute: 1_000 });
        const times: number[] = [];
        const stepMs = 20;
        for (let now = 0; now < 600_000; now += stepMs) {
          if ((await store.admit([key])).admitted) times.push(now);
          await pass(stepMs);
        }
        for (const [at, time] of times.entries()) {
          assert.ok((times[at + 1_000] ?? Infinity) >= time + 60_000, `1 001 runs in the minute from ${time}`);
        }
        assert.ok(times.length >= 10_000 * (64 / 65), `${times.length} of 10 000`);
      },
    );
  });
}

export function charge(key: string, limits: Limits, keyClass: "container" | "token" = "token"): Charge {
  return { key, class: keyClass, limits: limitVector(limits) };
}

/** Returns how many of the runs are admitted, one after the other. */
export async function admitted(store: LimitStore, runs: number, ...charges: Charge[]): Promise<number> {
  let count = 0;
  for (let run = 0; run < runs; run++) if ((await store.admit(charges)).admitted) count++;
  return count;
}

async function admitOrFail(store: LimitStore, ...charges: Charge[]): Promise<Decision> {
  const decision = await store.admit(charges);
  assert.deepEqual([decision.admitted, decision.retryAfterMs, decision.violations], [true, 0, []]);
  return decision;
}

function remaining({ remaining: left }: KeyUsage, window: number): number {
  return left[window]!;
}

function usage({ class: keyClass, limits }: Charge, left: number[], resetMs: number[]): KeyUsage {
  return { class: keyClass, limits, remaining: left, resetMs };
}

function unused(key: Charge, left: number[]): KeyReading {
  const none = [0, 0, 0, 0, 0, 0];
  return { ...usage(key, left, none), used: none };
}
