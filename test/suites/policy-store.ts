import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ContainerPolicy, PolicyStore } from "../../src/policies/store.ts";

/** A store that can be closed and opened again. */
export interface PolicyStoreUnderTest {
  store: PolicyStore;
  /** Closes the store and opens it again. */
  reopen: () => Promise<PolicyStore>;
  /** Closes the store and removes its data. */
  end: () => Promise<void>;
}

/** The promises of every policy store. */
export function policyStoreSuite(subject: string, open: () => Promise<PolicyStoreUnderTest>): void {
  const promise = (sentence: string, body: (under: PolicyStoreUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a policy store`, () => {
    promise("has no policy for a container without one", async ({ store }) => {
      assert.equal(store.get("demo"), undefined);
      assert.equal(await store.remove("demo"), false);
      assert.deepEqual(store.containers("", 9), []);
    });

    promise("applies a policy at once, and replaces the previous one", async ({ store }) => {
      await store.set("demo", policy({ minute: 60, day: 1_000 }), "me");
      assert.deepEqual(store.get("demo"), policy({ minute: 60, day: 1_000 }));
      await store.set("demo", policy({ second: 1 }), "me");
      assert.deepEqual(store.get("demo"), policy({ second: 1 }));
      assert.equal(await store.remove("demo"), true);
      assert.equal(store.get("demo"), undefined);
      assert.equal(await store.remove("demo"), false);
    });

    promise("returns the same object until the policy changes", async ({ store }) => {
      await store.set("demo", policy({ minute: 60 }), "me");
      assert.equal(store.get("demo"), store.get("demo"));
      assert.equal(store.get("demo")!.limits, store.get("demo")!.limits);
    });

    promise("keeps set and removed policies when it is opened again", async ({ store, reopen }) => {
      await store.set("kept", policy({ month: 1_000_000_000 }), "me");
      await store.set("changed", policy({ month: 1 }), "me");
      await store.set("changed", policy({ hour: 2 }), "me");
      await store.set("gone", policy({ day: 1 }), "me");
      await store.remove("gone");
      const again = await reopen();
      assert.deepEqual(again.get("kept"), policy({ month: 1_000_000_000 }));
      assert.deepEqual(again.get("changed"), policy({ hour: 2 }));
      assert.equal(again.get("gone"), undefined);
      assert.deepEqual(again.containers("", 9), ["changed", "kept"]);
    });

    promise("lists its containers page by page in order", async ({ store }) => {
      for (const name of ["b", "a", "C", "b-2", "_"]) await store.set(name, policy({ day: 1 }), "me");
      assert.deepEqual(store.containers("", 2), ["C", "_"]);
      assert.deepEqual(store.containers("_", 2), ["a", "b"]);
      assert.deepEqual(store.containers("b", 2), ["b-2"]);
      assert.deepEqual(store.containers("b-2", 2), []);
      assert.deepEqual(
        store.containers("C", 1, (name) => name.startsWith("b")),
        ["b"],
      );
    });

    promise("accepts the words of JavaScript as names", async ({ store, reopen }) => {
      for (const name of ["__proto__", "constructor", "toString"]) {
        assert.equal(store.get(name), undefined);
        await store.set(name, policy({ day: 1 }), "me");
      }
      assert.deepEqual((await reopen()).containers("", 9), ["__proto__", "constructor", "toString"]);
    });
  });
}

export function policy(limits: ContainerPolicy["limits"]): ContainerPolicy {
  return { limits };
}
