import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import type { SealedSecrets, SecretStore } from "../../src/tokens/secrets/store.ts";

/** A time after the real time of Redis, so that no secret has ended by the clock of Redis. */
const START_MS = Date.now() + 3_600_000;
const LATER_MS = START_MS + 3_600_000;

/** A store that can be closed and opened again. */
export interface SecretStoreUnderTest {
  store: SecretStore;
  /** Closes the store and opens it again. */
  reopen: () => Promise<SecretStore>;
  /** Closes the store and removes its data. */
  end: () => Promise<void>;
}

/** The promises of every secret store. */
export function secretStoreSuite(subject: string, open: () => Promise<SecretStoreUnderTest>): void {
  const promise = (sentence: string, body: (under: SecretStoreUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a secret store`, () => {
    promise("has nothing for a token without secrets", async ({ store }) => {
      assert.deepEqual(await store.get(randomUUID(), [randomUUID()]), [null, null]);
      await store.remove(randomUUID(), [], { below: true });
    });

    promise("replaces the secrets of a token, and keeps them when it is opened again", async (under) => {
      const token = sealed("one");
      await under.store.put(token, START_MS);
      await under.store.put({ ...token, sealed: "two" }, START_MS);
      for (const turn of [() => under.store, under.reopen]) {
        const store = await turn();
        assert.deepEqual(await store.get(token.jti, []), ["two"]);
      }
    });

    promise("returns the secrets of a token and of the tokens above it, its own first", async ({ store }) => {
      const [head, middle] = [randomUUID(), randomUUID()];
      const child = { ...sealed("child"), parents: [middle, head] };
      await store.put({ ...sealed("head"), jti: head }, START_MS);
      await store.put(child, START_MS);
      assert.deepEqual(await store.get(child.jti, child.parents), ["child", null, "head"]);
      assert.deepEqual(await store.get(middle, [head]), [null, "head"]);
    });

    promise("gives large secrets as it gives small ones", async ({ store }) => {
      const jti = randomUUID();
      const large = { jti, parents: [], sealed: "x".repeat(100_000), forgetAt: null };
      await store.put(large, START_MS);
      const reads = await Promise.all(Array.from({ length: 50 }, async () => await store.get(jti, [])));
      assert.ok(reads.every(([text]) => text === large.sealed));
      assert.deepEqual(await store.get(randomUUID(), [jti]), [null, large.sealed]);
    });

    promise("removes the secrets of a token, and on request of all tokens below it", async ({ store }) => {
      const [head, middle] = [randomUUID(), randomUUID()];
      const tokens = [
        { ...sealed("head"), jti: head },
        { ...sealed("middle"), jti: middle, parents: [head] },
        { ...sealed("sibling"), parents: [head] },
        { ...sealed("child"), parents: [middle, head] },
        sealed("other"),
      ];
      for (const token of tokens) await store.put(token, START_MS);
      const left = async (): Promise<string[]> => {
        const found = await Promise.all(tokens.map(async ({ jti, parents }) => (await store.get(jti, parents))[0]));
        return found.filter((text) => text !== null && text !== undefined);
      };
      await store.remove(middle, [head], { below: false });
      assert.deepEqual(await left(), ["head", "sibling", "child", "other"]);
      await store.remove(middle, [head], { below: true });
      assert.deepEqual(await left(), ["head", "sibling", "other"]);
      await store.remove(head, [], { below: true });
      assert.deepEqual(await left(), ["other"]);
    });

    promise("deletes ended secrets on a write, and no others", async ({ store }) => {
      const head = randomUUID();
      // Ended by the wall clock of the test, and by the store's own clock.
      const ended = { ...sealed("ended"), parents: [head], forgetAt: Date.now() - 1_000 };
      const endless = { ...sealed("endless"), parents: [head], forgetAt: null };
      await store.put(endless, START_MS);
      await store.put(ended, START_MS);
      assert.deepEqual(await store.get(ended.jti, [head]), ["ended", null]);
      await store.put({ ...sealed("new"), parents: [head] }, START_MS);
      assert.deepEqual(await store.get(ended.jti, [head]), [null, null]);
      assert.deepEqual(await store.get(endless.jti, [head]), ["endless", null]);
    });

    promise("stores at most the bytes allowed for a family, and replaces the secrets of a token", async (under) => {
      const [head, other] = [randomUUID(), randomUUID()];
      const [large, small] = ["x".repeat(1_000), "x".repeat(500)];
      const child = { ...sealed(large), parents: [randomUUID(), head] };
      assert.equal(await under.store.put({ ...sealed(small), jti: head }, START_MS, 2_000), true);
      assert.equal(await under.store.put(child, START_MS, 2_000), true);
      const store = await under.reopen();
      assert.equal(await store.put({ ...sealed(large), parents: [head] }, START_MS, 2_000), false);
      assert.equal(await store.put({ ...child, sealed: large + small + small }, START_MS, 2_000), false);
      assert.deepEqual(await store.get(child.jti, child.parents), [large, null, small]);
      assert.equal(await store.put({ ...child, sealed: large + small }, START_MS, 2_000), true);
      assert.equal(await store.put({ ...sealed(large), parents: [other] }, START_MS, 2_000), true);
      await store.remove(child.jti, child.parents, { below: false });
      assert.equal(await store.put({ ...sealed(large), parents: [head] }, START_MS, 2_000), true);
    });

    promise("accepts one of many rival writes for the last room of a family", async ({ store }) => {
      const parents = [randomUUID()];
      const rivals = Array.from({ length: 10 }, async () => store.put({ ...sealed("x"), parents }, START_MS, 1));
      assert.equal((await Promise.all(rivals)).filter(Boolean).length, 1);
    });
  });
}

function sealed(text: string): SealedSecrets {
  return { jti: randomUUID(), parents: [], sealed: text, forgetAt: LATER_MS };
}
