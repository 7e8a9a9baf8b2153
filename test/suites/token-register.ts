import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import { LEEWAY_S } from "../../src/tokens/format.ts";
import type { Payload } from "../../src/tokens/payload.ts";
import type { TokenStore } from "../../src/tokens/store.ts";
import { problemOf } from "../tokens/support.ts";

/** Long after any time that the tests run at. */
const EXP_S = 4_000_000_000;
const START_MS = 1_900_000_000_000;

/** A register that can be opened again on what it has kept. */
export interface RegisterUnderTest {
  register: TokenStore;
  /** Closes it and opens it anew. */
  reopen: () => Promise<TokenStore>;
  /** Ends it and removes what it left. */
  end: () => Promise<void>;
}

/** What every register of tokens promises. */
export function tokenRegisterSuite(subject: string, open: () => Promise<RegisterUnderTest>): void {
  const promise = (sentence: string, body: (under: RegisterUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a register of tokens`, () => {
    promise("knows nothing of a token that nobody has issued, revoked or used", async ({ register }) => {
      const jti = randomUUID();
      assert.equal(await register.issued(jti), undefined);
      assert.equal(register.isRevoked(jti), false);
      assert.equal(await register.revocation(jti), undefined);
      assert.equal(await register.use(jti), undefined);
      assert.deepEqual(await register.list("", 9), []);
    });

    promise(
      "knows what was issued, by whom, when and on which keys it hangs, also when it is opened again",
      async ({ register, reopen }) => {
        const below = { ...issued(), parents: [randomUUID()] };
        await register.record(below, "somebody", START_MS, ["one", "other"]);
        for (const turn of [() => register, reopen]) {
          const each = await turn();
          const found = await each.issued(below.jti);
          assert.deepEqual([found?.issuedBy, found?.issuedAt], ["somebody", START_MS]);
          assert.deepEqual(found?.kids, ["one", "other"]);
          assert.deepEqual([found?.claims.parents, found?.claims.exp], [below.parents, EXP_S]);
        }
      },
    );

    promise("lists all that was issued, in the order of their names, page by page", async ({ register, reopen }) => {
      const tokens = Array.from({ length: 25 }, issued);
      for (const token of tokens) await register.record(token, "me", START_MS);
      const names = tokens.map(({ jti }) => jti).toSorted();
      for (const turn of [() => register, reopen]) {
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

    promise("knows of a key whether a valid token was signed with it, also when it is opened again", async (under) => {
      const nowMs = Date.now();
      const expS = Math.floor(nowMs / 1_000) + 3_600;
      const [lasting, revoked, below, ending] = [endless(), issued(), issued(), { ...issued(), exp: expS }];
      await under.register.record(lasting, "me", nowMs, ["a"]);
      await under.register.record(revoked, "me", nowMs, ["b"]);
      await under.register.record({ ...below, parents: [revoked.jti] }, "me", nowMs, ["c", "b"]);
      await under.register.record(ending, "me", nowMs, ["d", "a"]);
      const used = async (atMs = nowMs): Promise<boolean[]> => {
        return Promise.all(["a", "b", "c", "d", "e", ""].map(async (kid) => under.register.isKeyUsed(kid, atMs)));
      };
      assert.deepEqual(await used(), [true, true, true, true, false, false]);
      await under.register.revoke(revoked.jti, "me", nowMs);
      assert.deepEqual(await used(), [true, false, false, true, false, false]);
      under.register = await under.reopen();
      assert.deepEqual(await used(), [true, false, false, true, false, false]);
      const endMs = (expS + LEEWAY_S) * 1_000;
      assert.deepEqual(await used(endMs - 1), [true, false, false, true, false, false]);
      assert.deepEqual(await used(endMs), [true, false, false, false, false, false]);
      await under.register.revoke(lasting.jti, "me", nowMs);
      assert.deepEqual(await used(endMs), [false, false, false, false, false, false]);
    });

    promise("has a revocation in force at once, once, and when it is opened again", async ({ register, reopen }) => {
      const [token, unknown] = [issued(), randomUUID()];
      await register.record(token, "me", START_MS);
      for (const jti of [token.jti, unknown]) {
        assert.equal(await register.revoke(jti, "one", START_MS + 1), true);
        assert.equal(register.isRevoked(jti), true);
        assert.equal(await register.revoke(jti, "another", START_MS + 2), false);
      }
      const again = await reopen();
      for (const jti of [token.jti, unknown]) {
        assert.equal(again.isRevoked(jti), true);
        assert.deepEqual(await again.revocation(jti), { by: "one", at: START_MS + 1 });
      }
    });

    promise("forgets the revocation of a token that was issued elsewhere, when its end is known", async (under) => {
      const [jti, lasting] = [randomUUID(), randomUUID()];
      const longAgoS = Math.floor(Date.now() / 1_000) - 100_000;
      await under.register.revoke(jti, "itself", START_MS, longAgoS);
      await under.register.revoke(lasting, "me", START_MS);
      await under.register.revoke(randomUUID(), "me", START_MS);
      const again = await under.reopen();
      assert.deepEqual([again.isRevoked(jti), again.isRevoked(lasting)], [false, true]);
    });

    promise("forgets what was retired, though it had no end of its own, and nothing else", async (under) => {
      const longAgoMs = Date.now() - 100_000_000;
      const [gone, recent, lasting] = [endless(), endless(), endless()];
      for (const token of [gone, recent, lasting]) {
        await under.register.record(token, "me", START_MS);
        await under.register.addUse(new Map([[token.jti, { runs: 1, lastMs: START_MS }]]));
        await under.register.revoke(token.jti, "me", START_MS);
      }
      await under.register.retire(gone.jti, longAgoMs);
      await under.register.retire(recent.jti, START_MS);
      assert.equal(under.register.isRevoked(recent.jti), true);
      assert.deepEqual(await under.register.revocation(recent.jti), { by: "me", at: START_MS });
      // Whatever is over is forgotten with the next change.
      await under.register.revoke(randomUUID(), "me", START_MS);
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

    promise("takes no more unexpired tokens of a family than it is told, revoked ones among them", async (under) => {
      const [head, middle, other] = [randomUUID(), randomUUID(), randomUUID()];
      const record = async (parents: readonly string[], payload: Payload = issued()): Promise<string> => {
        await under.register.record({ ...payload, parents }, "me", START_MS, [], 2);
        return payload.jti;
      };
      const first = await record([head]);
      await record([middle, head]);
      await under.register.revoke(first, "me", START_MS);
      under.register = await under.reopen();
      assert.equal((await problemOf(() => record([head]))).code, "quota_exceeded");
      assert.equal((await problemOf(() => record([middle, head]))).code, "quota_exceeded");
      // Another family, the topmost token itself, and a named task, which its store counts.
      await record([other]);
      await under.register.record(issued(), "me", START_MS, [], 0);
      const { exp, ...task } = { ...issued(), task: "a/task" };
      for (let count = 0; count < 3; count++) await record([head], { ...task, exp: exp!, jti: randomUUID() });
      assert.equal((await under.register.list("", 99)).length, 7);
    });

    promise("lets one of many in that come for the last place of a family", async ({ register }) => {
      const parents = [randomUUID()];
      const rivals = Array.from({ length: 10 }, async () =>
        register.record({ ...issued(), parents }, "me", START_MS, [], 1),
      );
      const ends = await Promise.allSettled(rivals);
      assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
    });

    promise("deletes the records of expired tokens of a family before there are too many", async ({ register }) => {
      const nowMs = Date.now();
      const [parents, expS] = [[randomUUID()], Math.floor(nowMs / 1_000) - 60];
      const expired = Array.from({ length: 3 }, () => ({ ...issued(), exp: expS, parents }));
      for (const token of expired.slice(0, 2)) await register.record(token, "me", nowMs, [], 2);
      await register.revoke(expired[0]!.jti, "me", nowMs);
      await register.record(expired[2]!, "me", nowMs, [], 2);
      await register.record({ ...issued(), parents }, "me", nowMs, [], 2);
      const listed = await register.list("", 99);
      assert.equal(listed.length, 2);
      assert.equal(listed.filter(({ claims }) => claims.exp === EXP_S).length, 1);
    });

    promise("tells of each revocation once, when it is in force", async ({ register }) => {
      const told: string[] = [];
      register.onRevoked((jtis) => {
        for (const jti of jtis) assert.equal(register.isRevoked(jti), true);
        told.push(...jtis);
      });
      const [one, other] = [randomUUID(), randomUUID()];
      for (const jti of [one, one, other]) await register.revoke(jti, "me", START_MS);
      assert.deepEqual(told, [one, other]);
    });

    promise("revokes only what can be a jti", async ({ register }) => {
      const problem = await problemOf(() => register.revoke("x".repeat(100_000), "me", START_MS));
      assert.equal(problem.code, "request_invalid");
      assert.ok(problem.message.length < 200);
    });

    promise("adds up what tokens were used for, and keeps the latest time", async ({ register, reopen }) => {
      const [one, other] = [issued(), issued()];
      for (const token of [one, other]) await register.record(token, "me", START_MS);
      await register.addUse(
        new Map([
          [one.jti, { runs: 3, lastMs: START_MS + 9 }],
          [other.jti, { runs: 0, lastMs: START_MS }],
        ]),
      );
      await register.addUse(new Map([[one.jti, { runs: 2, lastMs: START_MS + 5 }]]));
      for (const turn of [() => register, reopen]) {
        const each = await turn();
        assert.deepEqual(await each.use(one.jti), { runs: 5, lastMs: START_MS + 9 });
        assert.deepEqual(await each.use(other.jti), { runs: 0, lastMs: START_MS });
      }
    });
  });
}

/** Of a named task, which may have no end. */
function endless(): Payload {
  const { exp: _, ...payload } = issued();
  return { ...payload, task: "a/task" };
}

function issued(): Payload {
  const times = { iat: 1_900_000_000, exp: EXP_S };
  return { iss: "caisson", aud: "caisson", jti: randomUUID(), ...times, containers: ["demo"], can: ["run"] };
}
