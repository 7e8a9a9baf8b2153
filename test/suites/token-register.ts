import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import type { Payload } from "../../src/tokens/payload.ts";
import type { TokenStore } from "../../src/tokens/store.ts";
import { LEEWAY_S } from "../../src/tokens/token-format.ts";
import { problemOf } from "../tokens/support.ts";

/** A time long after the tests run, in Unix seconds. */
const EXP_S = 4_000_000_000;
const START_MS = 1_900_000_000_000;

/** A store that can be closed and opened again. */
export interface TokenStoreUnderTest {
  store: TokenStore;
  /** Closes the store and opens it again. */
  reopen: () => Promise<TokenStore>;
  /** Closes the store and removes its data. */
  end: () => Promise<void>;
}

/** The promises of every token store. */
export function tokenStoreSuite(subject: string, open: () => Promise<TokenStoreUnderTest>): void {
  const promise = (sentence: string, body: (under: TokenStoreUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a token store`, () => {
    promise("has nothing for a token that was never issued, revoked or used", async ({ store }) => {
      const jti = randomUUID();
      assert.equal(await store.issued(jti), undefined);
      assert.equal(store.isRevoked(jti), false);
      assert.equal(await store.revocation(jti), undefined);
      assert.equal(await store.use(jti), undefined);
      assert.deepEqual(await store.list("", 9), []);
    });

    promise(
      "keeps issued tokens with their issuer, time and keys, even when it is opened again",
      async ({ store, reopen }) => {
        const below = { ...issued(), parents: [randomUUID()] };
        await store.record(below, "issuer", START_MS, ["one", "other"]);
        for (const turn of [() => store, reopen]) {
          const each = await turn();
          const found = await each.issued(below.jti);
          assert.deepEqual([found?.issuedBy, found?.issuedAt], ["issuer", START_MS]);
          assert.deepEqual(found?.kids, ["one", "other"]);
          assert.deepEqual([found?.claims.parents, found?.claims.exp], [below.parents, EXP_S]);
        }
      },
    );

    promise("lists all issued tokens by jti, page by page", async ({ store, reopen }) => {
      const tokens = Array.from({ length: 25 }, issued);
      for (const token of tokens) await store.record(token, "me", START_MS);
      const names = tokens.map(({ jti }) => jti).toSorted();
      for (const turn of [() => store, reopen]) {
        const each = await turn();
        const seen: string[] = [];
        for (let after = ""; ; after = seen.at(-1)!) {
          const page = await each.list(after, 10);
          if (page.length === 0) break;
          assert.ok(page.length <= 10);
          seen.push(...page.map(({ claims }) => claims.jti));
        }
        assert.deepEqual(seen, names);
      }
    });

    promise(
      "lists the tokens below a token, of every generation and of no other token, page by page",
      async (under) => {
        const [head, middle, other] = [randomUUID(), randomUUID(), randomUUID()];
        const chains = [
          [head],
          [middle, head],
          [randomUUID(), middle, head],
          [randomUUID(), randomUUID(), middle, head],
        ];
        const below: string[][] = [];
        for (const parents of [...chains, [other], [randomUUID(), other]]) {
          const tokens = Array.from({ length: 4 }, () => ({ ...issued(), parents }));
          const { exp, ...task } = { ...issued(), parents, task: "a/task" };
          for (const token of [...tokens, { ...task, exp: exp! }]) await under.store.record(token, "me", START_MS);
          below.push([...tokens, task].map(({ jti }) => jti));
        }
        await under.store.record(issued(), "me", START_MS);
        const lists: [string, readonly string[], string[]][] = [
          [head, [], below.slice(0, 4).flat()],
          [middle, [head], below.slice(1, 4).flat()],
          [other, [], below.slice(4).flat()],
          [randomUUID(), [], []],
        ];
        for (const turn of [() => under.store, under.reopen]) {
          const store = await turn();
          for (const [jti, parents, expected] of lists) {
            const seen: string[] = [];
            for (let after = ""; ; after = seen.at(-1)!) {
              const page = await store.listBelow({ jti, parents }, after, 3);
              if (page.length === 0) break;
              assert.ok(page.length <= 3);
              for (const { claims } of page) assert.ok(claims.parents.includes(jti));
              seen.push(...page.map(({ claims }) => claims.jti));
            }
            assert.deepEqual(seen, expected.toSorted());
          }
        }
      },
    );

    promise("lists a token whose record was deleted below no token", async ({ store }) => {
      const nowMs = Date.now();
      const [head, expS] = [randomUUID(), Math.floor(nowMs / 1_000) - 60];
      const expired = { ...issued(), exp: expS, parents: [randomUUID(), head], params: { text: "\ud800" } };
      await store.record(expired, "me", nowMs, [], 1);
      const kept = { ...issued(), parents: [head] };
      await store.record(kept, "me", nowMs, [], 1);
      const listed = await store.listBelow({ jti: head, parents: [] }, "", 9);
      assert.deepEqual(
        listed.map(({ claims }) => claims.jti),
        [kept.jti],
      );
      assert.deepEqual(await store.listBelow({ jti: expired.parents[0]!, parents: [head] }, "", 9), []);
    });

    promise("reports whether a key has signed a valid token, even when it is opened again", async (under) => {
      const nowMs = Date.now();
      const expS = Math.floor(nowMs / 1_000) + 3_600;
      const [lasting, revoked, below, ending] = [endless(), issued(), issued(), { ...issued(), exp: expS }];
      await under.store.record(lasting, "me", nowMs, ["a"]);
      await under.store.record(revoked, "me", nowMs, ["b"]);
      await under.store.record({ ...below, parents: [revoked.jti] }, "me", nowMs, ["c", "b"]);
      await under.store.record(ending, "me", nowMs, ["d", "a"]);
      const used = async (atMs = nowMs): Promise<boolean[]> => {
        return Promise.all(["a", "b", "c", "d", "e", ""].map(async (kid) => under.store.isKeyUsed(kid, atMs)));
      };
      assert.deepEqual(await used(), [true, true, true, true, false, false]);
      await under.store.revoke(revoked.jti, "me", nowMs);
      assert.deepEqual(await used(), [true, false, false, true, false, false]);
      under.store = await under.reopen();
      assert.deepEqual(await used(), [true, false, false, true, false, false]);
      const endMs = (expS + LEEWAY_S) * 1_000;
      assert.deepEqual(await used(endMs - 1), [true, false, false, true, false, false]);
      assert.deepEqual(await used(endMs), [true, false, false, false, false, false]);
      await under.store.revoke(lasting.jti, "me", nowMs);
      assert.deepEqual(await used(endMs), [false, false, false, false, false, false]);
    });

    promise("applies a revocation at once and only once, even when it is opened again", async ({ store, reopen }) => {
      const [token, unknown] = [issued(), randomUUID()];
      await store.record(token, "me", START_MS);
      for (const jti of [token.jti, unknown]) {
        assert.equal(await store.revoke(jti, "one", START_MS + 1), true);
        assert.equal(store.isRevoked(jti), true);
        assert.equal(await store.revoke(jti, "another", START_MS + 2), false);
      }
      const again = await reopen();
      for (const jti of [token.jti, unknown]) {
        assert.equal(again.isRevoked(jti), true);
        assert.deepEqual(await again.revocation(jti), { by: "one", at: START_MS + 1 });
      }
    });

    promise(
      "deletes the revocation of a token issued elsewhere after the token's end, if that is known",
      async (under) => {
        const [jti, lasting] = [randomUUID(), randomUUID()];
        const longAgoS = Math.floor(Date.now() / 1_000) - 100_000;
        await under.store.revoke(jti, "itself", START_MS, longAgoS);
        await under.store.revoke(lasting, "me", START_MS);
        await under.store.revoke(randomUUID(), "me", START_MS);
        const again = await under.reopen();
        assert.deepEqual([again.isRevoked(jti), again.isRevoked(lasting)], [false, true]);
      },
    );

    promise("deletes the records of retired tokens without an end, and no others", async (under) => {
      const longAgoMs = Date.now() - 100_000_000;
      const [gone, recent, lasting] = [endless(), endless(), endless()];
      for (const token of [gone, recent, lasting]) {
        await under.store.record(token, "me", START_MS);
        await under.store.addUse(new Map([[token.jti, { runs: 1, lastMs: START_MS }]]));
        await under.store.revoke(token.jti, "me", START_MS);
      }
      await under.store.retire(gone.jti, longAgoMs);
      await under.store.retire(recent.jti, START_MS);
      assert.equal(under.store.isRevoked(recent.jti), true);
      assert.deepEqual(await under.store.revocation(recent.jti), { by: "me", at: START_MS });
      // The next change deletes ended records.
      await under.store.revoke(randomUUID(), "me", START_MS);
      const again = await under.reopen();
      for (const [token, isKept] of [
        [gone, false],
        [recent, true],
        [lasting, true],
      ] as const) {
        assert.equal(again.isRevoked(token.jti), isKept);
        assert.equal((await again.issued(token.jti)) !== undefined, isKept);
        assert.equal((await again.use(token.jti)) !== undefined, isKept);
      }
    });

    promise("accepts at most the allowed unexpired tokens of a family, and counts revoked ones", async (under) => {
      const [head, middle, other] = [randomUUID(), randomUUID(), randomUUID()];
      const record = async (parents: readonly string[], payload: Payload = issued()): Promise<string> => {
        await under.store.record({ ...payload, parents }, "me", START_MS, [], 2);
        return payload.jti;
      };
      const first = await record([head]);
      await record([middle, head]);
      await under.store.revoke(first, "me", START_MS);
      under.store = await under.reopen();
      assert.equal((await problemOf(() => record([head]))).code, "quota_exceeded");
      assert.equal((await problemOf(() => record([middle, head]))).code, "quota_exceeded");
      // Tokens of another family, the topmost token itself, and tokens of named tasks, which the task store counts.
      await record([other]);
      await under.store.record(issued(), "me", START_MS, [], 0);
      const { exp, ...task } = { ...issued(), task: "a/task" };
      for (let count = 0; count < 3; count++) await record([head], { ...task, exp: exp!, jti: randomUUID() });
      assert.equal((await under.store.list("", 99)).length, 7);
    });

    promise("accepts one of many rival writes for the last token of a family", async ({ store }) => {
      const parents = [randomUUID()];
      const rivals = Array.from({ length: 10 }, async () =>
        store.record({ ...issued(), parents }, "me", START_MS, [], 1),
      );
      const ends = await Promise.allSettled(rivals);
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
    });

    promise("deletes the records of expired tokens of a family that has too many", async ({ store }) => {
      const nowMs = Date.now();
      const [parents, expS] = [[randomUUID()], Math.floor(nowMs / 1_000) - 60];
      const expired = Array.from({ length: 3 }, () => ({ ...issued(), exp: expS, parents }));
      for (const token of expired.slice(0, 2)) await store.record(token, "me", nowMs, [], 2);
      await store.revoke(expired[0]!.jti, "me", nowMs);
      await store.record(expired[2]!, "me", nowMs, [], 2);
      await store.record({ ...issued(), parents }, "me", nowMs, [], 2);
      const listed = await store.list("", 99);
      assert.equal(listed.length, 2);
      assert.equal(listed.filter(({ claims }) => claims.exp === EXP_S).length, 1);
    });

    promise("reports each revocation to each listener once, after it is in force", async ({ store }) => {
      const reported: string[][] = [[], []];
      for (const jtisOfListener of reported) {
        store.onRevoked((jtis) => {
          for (const jti of jtis) assert.equal(store.isRevoked(jti), true);
          jtisOfListener.push(...jtis);
        });
      }
      const [one, other] = [randomUUID(), randomUUID()];
      for (const jti of [one, one, other]) await store.revoke(jti, "me", START_MS);
      for (const jtisOfListener of reported) assert.deepEqual(jtisOfListener, [one, other]);
    });

    promise("revokes only valid jtis", async ({ store }) => {
      const problem = await problemOf(() => store.revoke("x".repeat(100_000), "me", START_MS));
      assert.equal(problem.code, "request_invalid");
      assert.ok(problem.message.length < 200);
    });

    promise("adds up the use of tokens, and keeps the latest time", async ({ store, reopen }) => {
      const [one, other] = [issued(), issued()];
      for (const token of [one, other]) await store.record(token, "me", START_MS);
      await store.addUse(
        new Map([
          [one.jti, { runs: 3, lastMs: START_MS + 9 }],
          [other.jti, { runs: 0, lastMs: START_MS }],
        ]),
      );
      await store.addUse(new Map([[one.jti, { runs: 2, lastMs: START_MS + 5 }]]));
      for (const turn of [() => store, reopen]) {
        const each = await turn();
        assert.deepEqual(await each.use(one.jti), { runs: 5, lastMs: START_MS + 9 });
        assert.deepEqual(await each.use(other.jti), { runs: 0, lastMs: START_MS });
      }
    });
  });
}

/** Returns the payload of a named task, which may have no end. */
function endless(): Payload {
  const { exp: _, ...payload } = issued();
  return { ...payload, task: "a/task" };
}

function issued(): Payload {
  const times = { iat: 1_900_000_000, exp: EXP_S };
  return { iss: "caisson", aud: "caisson", jti: randomUUID(), ...times, containers: ["demo"], can: ["run"] };
}
