import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ContainerPolicy, NO_POLICY, type PolicyStore, type Suspension } from "../../src/policies/store.ts";

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
      assert.equal(await remove(store, "demo"), false);
      assert.deepEqual(await store.containers("", 9), []);
    });

    promise("applies a policy at once, and replaces the previous one", async ({ store }) => {
      await set(store, "demo", policy({ minute: 60, day: 1_000 }));
      assert.deepEqual(store.get("demo"), policy({ minute: 60, day: 1_000 }));
      await set(store, "demo", policy({ second: 1 }));
      assert.deepEqual(store.get("demo"), policy({ second: 1 }));
      assert.equal(await remove(store, "demo"), true);
      assert.equal(store.get("demo"), undefined);
      assert.equal(await remove(store, "demo"), false);
    });

    promise("returns the same object until the policy changes", async ({ store }) => {
      await set(store, "demo", policy({ minute: 60 }));
      assert.equal(store.get("demo"), store.get("demo"));
      assert.equal(store.get("demo")!.limits, store.get("demo")!.limits);
    });

    promise("keeps set and removed policies when it is opened again", async ({ store, reopen }) => {
      await set(store, "kept", policy({ month: 1_000_000_000 }));
      await set(store, "changed", policy({ month: 1 }));
      await set(store, "changed", policy({ hour: 2 }));
      await set(store, "gone", policy({ day: 1 }));
      await remove(store, "gone");
      const again = await reopen();
      assert.deepEqual(again.get("kept"), policy({ month: 1_000_000_000 }));
      assert.deepEqual(again.get("changed"), policy({ hour: 2 }));
      assert.equal(again.get("gone"), undefined);
      assert.deepEqual(await again.containers("", 9), ["changed", "kept"]);
    });

    promise("lists its containers page by page in order", async ({ store }) => {
      for (const name of ["b", "a", "C", "b-2", "_"]) await set(store, name, policy({ day: 1 }));
      assert.deepEqual(await store.containers("", 2), ["C", "_"]);
      assert.deepEqual(await store.containers("_", 2), ["a", "b"]);
      assert.deepEqual(await store.containers("b", 2), ["b-2"]);
      assert.deepEqual(await store.containers("b-2", 2), []);
      assert.deepEqual(await store.containers("C", 1, (name) => name.startsWith("b")), ["b"]);
    });

    promise("accepts the words of JavaScript as names", async ({ store, reopen }) => {
      for (const name of ["__proto__", "constructor", "toString"]) {
        assert.equal(store.get(name), undefined);
        await set(store, name, policy({ day: 1 }));
      }
      assert.deepEqual(await (await reopen()).containers("", 9), ["__proto__", "constructor", "toString"]);
    });

    promise("keeps labels, a description and a suspension, also when it is opened again", async ({ store, reopen }) => {
      const suspended = { at: 1_764_000_000_123, by: "me", endsRuns: true };
      const full = { ...policy({ day: 1 }), labels: { team: "billing", "a.b-c_1": "" }, description: "é", suspended };
      await set(store, "demo", full);
      await set(store, "stopped", { ...NO_POLICY, suspended });
      assert.deepEqual(store.get("demo"), full);
      const again = await reopen();
      assert.deepEqual(again.get("demo"), full);
      assert.deepEqual(again.get("stopped"), { ...NO_POLICY, suspended });
    });

    promise("gives each change the policy before it, and returns both", async ({ store }) => {
      const { before, after } = await store.change("demo", (was) => ({ ...was, description: "first" }), "me");
      assert.deepEqual([before, after.description], [NO_POLICY, "first"]);
      const changes = ["a", "b", "c"].map((name) =>
        store.change("demo", (was) => ({ ...was, labels: { ...was.labels, [name]: "1" } }), "me"),
      );
      await Promise.all(changes);
      assert.deepEqual(store.get("demo")?.labels, { a: "1", b: "1", c: "1" });
      assert.equal(store.get("demo")?.description, "first");
    });

    promise("keeps the same object after a change that changes nothing", async ({ store }) => {
      await set(store, "demo", policy({ day: 1 }));
      const known = store.get("demo");
      const { before, after } = await store.change("demo", (was) => ({ ...was, limits: { day: 1 } }), "me");
      assert.equal(before, after);
      assert.equal(store.get("demo"), known);
    });

    promise("changes nothing if the change throws", async ({ store }) => {
      await set(store, "demo", policy({ day: 1 }));
      await assert.rejects(store.change("demo", failingChange, "me"), RangeError);
      assert.deepEqual(store.get("demo"), policy({ day: 1 }));
    });

    promise(
      "reports a container that was suspended, after it applies, and none that was resumed",
      async ({ store }) => {
        const reported: [string, Suspension, boolean][] = [];
        store.onSuspended((name, suspension) => {
          reported.push([name, suspension, store.get(name)?.suspended != null]);
        });
        const suspended = { at: 1, by: "me", endsRuns: false };
        await set(store, "demo", { ...NO_POLICY, suspended });
        assert.deepEqual(reported, [["demo", suspended, true]]);
        await remove(store, "demo");
        await set(store, "other", policy({ day: 1 }));
        assert.equal(reported.length, 1);
      },
    );

    promise("filters its containers by their policy", async ({ store }) => {
      for (const team of ["a", "b"]) await set(store, `of-${team}`, { ...NO_POLICY, labels: { team } });
      assert.deepEqual(await store.containers("", 9, (_, { labels }) => labels["team"] === "b"), ["of-b"]);
    });

    promise("lets other work run while it looks for containers", async ({ store }) => {
      for (const name of ["a", "b", "c"]) await set(store, name, policy({ day: 1 }));
      const order: string[] = [];
      const names = await store.containers("", 9, (name) => {
        setImmediate(() => order.push("other work"));
        order.push(name);
        // Longer than a slice.
        for (const endMs = performance.now() + 4; performance.now() < endMs;);
        return true;
      });
      assert.deepEqual(names, ["a", "b", "c"]);
      assert.deepEqual(order.slice(0, 5), ["a", "other work", "b", "other work", "c"]);
    });
  });
}

function failingChange(): never {
  throw new RangeError("too many");
}

export function policy(limits: ContainerPolicy["limits"]): ContainerPolicy {
  return { ...NO_POLICY, limits };
}

/** Replaces the policy of a container. */
export async function set(store: PolicyStore, container: string, next: ContainerPolicy): Promise<void> {
  await store.change(container, () => next, "me");
}

/** Removes the policy of a container. @returns whether it had one */
export async function remove(store: PolicyStore, container: string): Promise<boolean> {
  return (await store.change(container, () => NO_POLICY, "me")).before !== NO_POLICY;
}
