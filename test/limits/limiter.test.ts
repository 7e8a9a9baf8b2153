import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { limitRecord } from "../../src/limits/limit-record.ts";
import { LimitSubject } from "../../src/limits/limit-subject.ts";
import { Limiter } from "../../src/limits/limiter.ts";
import type { Charge, LimitStore } from "../../src/limits/store.ts";
import type { Limits } from "../../src/limits/windows.ts";
import { HandClock, inFolder, withStore } from "./stores/folder.ts";

async function withLimiter(
  defaults: { container?: Limits; token?: Limits },
  body: (limiter: Limiter, store: LimitStore) => Promise<void>,
): Promise<void> {
  await inFolder((folder) =>
    withStore(folder, { clock: new HandClock() }, (store) =>
      body(new Limiter(store, { container: {}, token: {}, ...defaults }), store),
    ),
  );
}

function subject(jti: string, container: Limits, token: Limits, ...parents: LimitSubject[]): LimitSubject {
  const above = parents.map((parent) => ({ jti: parent.jti, limits: parent.limits.token }));
  return new LimitSubject(jti, { container, token }, above);
}

describe("the limiter", () => {
  it("applies the lower of the server's limits and the token's", async () => {
    await withLimiter({ container: { minute: 9, day: 50 }, token: { hour: 3 } }, async (limiter) => {
      const one = subject("one", { minute: 20, second: 4 }, { hour: 2 });
      assert.deepEqual((await limiter.container("demo", one)).limits, [4, 9, 0, 50, 0, 0]);
      assert.deepEqual((await limiter.token("one", one.limits.token)).limits, [0, 0, 2, 0, 0, 0]);
      assert.deepEqual((await limiter.token("unknown", undefined)).limits, [0, 0, 3, 0, 0, 0]);
    });
  });

  it("applies the limits set for a container from the next decision on, if they are the lowest", async () => {
    await withLimiter({}, async (_, store) => {
      const policies = new Map<string, Limits>();
      const limiter = new Limiter(store, { container: { day: 5 }, token: {} }, (name) => policies.get(name));
      const one = subject("one", { minute: 3 }, {});
      const none = subject("none", {}, {});
      assert.deepEqual((await limiter.container("demo", one)).limits, [0, 3, 0, 5, 0, 0]);
      policies.set("demo", { minute: 2, day: 9, month: 7 });
      assert.deepEqual((await limiter.container("demo", one)).limits, [0, 2, 0, 5, 0, 7]);
      assert.deepEqual((await limiter.container("demo", none)).limits, [0, 2, 0, 5, 0, 7]);
      assert.deepEqual((await limiter.container("other", one)).limits, [0, 3, 0, 5, 0, 0]);
      policies.set("other", { minute: 8 });
      assert.deepEqual((await limiter.container("other", one)).limits, [0, 3, 0, 5, 0, 0]);
      assert.deepEqual((await limiter.container("other", none)).limits, [0, 8, 0, 5, 0, 0]);
      for (let run = 0; run < 2; run++) assert.equal((await limiter.admit("demo", one)).admitted, true);
      assert.equal((await limiter.admit("demo", none)).admitted, false);
      policies.set("demo", { minute: 3 });
      assert.equal((await limiter.admit("demo", none)).admitted, true);
      policies.set("demo", { minute: 1 });
      assert.deepEqual((await limiter.container("demo", none)).remaining, [0, 0, 0, 2, 0, 0]);
      policies.delete("demo");
      assert.deepEqual((await limiter.container("demo", none)).limits, [0, 0, 0, 5, 0, 0]);
    });
  });

  it("passes the same limits object to the headers until the limits change", async () => {
    await withLimiter({}, async (_, store) => {
      const policy = { minute: 100 };
      const limiter = new Limiter(store, { container: {}, token: {} }, (name) => (name === "set" ? policy : undefined));
      const one = subject("one", { day: 100 }, {});
      const [first, second] = [await limiter.admit("set", one), await limiter.admit("set", one)];
      assert.equal(first.usage[0]!.limits, second.usage[0]!.limits);
    });
  });

  it("lists the used containers and their use in each window, with and without limits", async () => {
    await withLimiter({}, async (limiter) => {
      const one = subject("one", {}, {});
      for (const name of ["b", "a", "b", "c"]) await limiter.admit(name, one);
      await limiter.resetContainer("c");
      assert.deepEqual(await limiter.containers("", 9), ["a", "b"]);
      assert.deepEqual(await limiter.containers("a", 9), ["b"]);
      const uses = await limiter.uses(["b", "c"], "family");
      assert.deepEqual(
        uses.map(({ used }) => used),
        [
          [2, 2, 2, 2, 2, 2],
          [0, 0, 0, 0, 0, 0],
        ],
      );
      assert.deepEqual(await limiter.counted(["c", "b", "unknown", "a"], "family"), ["b", "a"]);
      assert.deepEqual([await limiter.counted([], "family"), await limiter.containers("", 9, [])], [[], []]);
      assert.deepEqual(await limiter.containers("", 9), ["a", "b"]);
    });
  });

  it("counts a run of any token against the container, with the limits of each token", async () => {
    await withLimiter({}, async (limiter) => {
      const large = subject("large", { minute: 5 }, {});
      const small = subject("small", { minute: 2 }, {});
      for (let run = 0; run < 2; run++) assert.equal((await limiter.admit("demo", large)).admitted, true);
      assert.equal((await limiter.admit("demo", small)).admitted, false);
      assert.equal((await limiter.admit("other", small)).admitted, true);
      assert.equal((await limiter.admit("demo", large)).admitted, true);
    });
  });

  it("counts a run against the tokens above it with their limits, so that issuing tokens multiplies no quota", async () => {
    await withLimiter({}, async (limiter) => {
      const parent = subject("parent", {}, { minute: 3 });
      const children = ["a", "b", "c"].map((jti) => subject(jti, {}, { minute: 2 }, parent));
      const outcomes = [];
      for (const child of [...children, ...children]) outcomes.push(await limiter.admit("demo", child));
      assert.deepEqual(
        outcomes.map(({ admitted }) => admitted),
        [true, true, true, false, false, false],
      );
      assert.deepEqual(
        outcomes[0]!.usage.map(({ class: keyClass, remaining }) => [keyClass, remaining[1]]),
        [
          ["container", 0],
          ["token", 1],
          ["token", 2],
        ],
      );
      assert.equal((await limiter.token("parent", { minute: 3 })).remaining[1], 0);
      assert.equal((await limiter.admit("demo", parent)).admitted, false);
    });
  });

  it("separates a container and a token of the same name, in use and in reset", async () => {
    await withLimiter({ container: { day: 9 }, token: { day: 9 } }, async (limiter) => {
      const same = subject("same", {}, {});
      await limiter.admit("same", same);
      await limiter.resetContainer("same");
      assert.equal((await limiter.container("same", same)).remaining[3], 9);
      assert.equal((await limiter.token("same", {})).remaining[3], 8);
      await limiter.resetToken("same");
      assert.equal((await limiter.token("same", {})).remaining[3], 9);
    });
  });

  it("calls the store once for all keys", async () => {
    const calls: (readonly Charge[])[] = [];
    await withLimiter({}, async (_, store) => {
      const counting: LimitStore = {
        failure: null,
        admit: (charges) => {
          calls.push(charges);
          return store.admit(charges);
        },
        read: (charges) => store.read(charges),
        reset: (key) => store.reset(key),
        keys: (prefixes, after, count) => store.keys(prefixes, after, count),
        close: () => store.close(),
      };
      const limiter = new Limiter(counting, { container: {}, token: {} });
      await limiter.admit("demo", subject("child", {}, {}, subject("parent", {}, {})));
      assert.deepEqual(
        calls.map((charges) => charges.map(({ key }) => key)),
        [["c:demo", "t:child", "t:parent"]],
      );
    });
  });

  it("throws a TypeError for a token above itself and for a limit that is not a positive integer", async () => {
    await withLimiter({}, async (limiter) => {
      const loop = new LimitSubject("a", {}, [{ jti: "a", limits: undefined }]);
      assert.throws(() => limiter.admit("demo", loop), TypeError);
      for (const minute of [0, -1, 1.5, Number.NaN]) {
        assert.throws(() => limiter.admit("demo", subject("b", { minute }, {})), TypeError);
      }
    });
  });
});

describe("the limit record", () => {
  it("has 0 for untracked windows, -1 for used-up windows, and otherwise the runs left", async () => {
    await withLimiter({}, async (limiter) => {
      const one = subject("one", { second: 1, day: 5 }, {});
      assert.deepEqual(limitRecord(await limiter.container("demo", one)), {
        second: 1,
        minute: 0,
        hour: 0,
        day: 5,
        week: 0,
        month: 0,
      });
      await limiter.admit("demo", one);
      const record = limitRecord(await limiter.container("demo", one));
      assert.deepEqual(record, { second: -1, minute: 0, hour: 0, day: 4, week: 0, month: 0 });
      assert.deepEqual(Object.keys(record), ["second", "minute", "hour", "day", "week", "month"]);
    });
  });
});
