import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { LockQueue } from "../src/lock-queue.ts";
import { PackageStore } from "../src/packages/package-store.ts";
import { NO_POLICY } from "../src/policies/store.ts";
import { SqlitePolicyStore } from "../src/policies/stores/sqlite.ts";
import { SqliteTaskStore } from "../src/tasks/stores/sqlite.ts";
import { SqliteSecretStore } from "../src/tokens/secrets/stores/sqlite.ts";
import { SqliteTokenStore } from "../src/tokens/stores/sqlite.ts";
import { problemOf, START_S, temporaryFolder } from "./tokens/support.ts";

const NOW_MS = START_S * 1_000;
const JTI = randomUUID();
const PAYLOAD = { iss: "caisson", aud: "caisson", jti: JTI, iat: START_S, admin: true } as const;
const VERSION = { version: 1, etag: "e", record: "{}", code: null };
const ROOM = { containerTasks: 9, family: null, familyTasks: 9, familyBytes: 9 };
const PUT = { jti: JTI, parents: [], sealed: "text", forgetAt: NOW_MS * 2 };

/** Opens the file as another process does, and takes the lock of writers. */
function takeLock(t: TestContext, file: string): { release: () => void } {
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  return { release: () => other.exec("COMMIT") };
}

/** Each store of a service, and the changes that callers make in it. */
const STORES: Record<string, (file: string) => { close: () => unknown; changes: (() => unknown)[] }> = {
  tokens: (file) => {
    const store = SqliteTokenStore.open(file, NOW_MS);
    return {
      close: () => store.close(),
      changes: [
        () => store.record(PAYLOAD, "me", NOW_MS),
        () => store.revoke(JTI, "me", NOW_MS),
        () => store.retire(JTI, NOW_MS),
      ],
    };
  },
  secrets: (file) => {
    const store = SqliteSecretStore.open(file, () => NOW_MS);
    return {
      close: () => store.close(),
      changes: [() => store.put(PUT, NOW_MS), () => store.remove(JTI, [], { below: true })],
    };
  },
  tasks: (file) => {
    const store = SqliteTaskStore.open(file);
    return {
      close: () => store.close(),
      changes: [
        () => store.keepNote("one", "note"),
        () => store.put("acme", "hello", VERSION, null, ROOM),
        () => store.remove("acme", "hello", "e"),
        () => store.deleteNote("one"),
      ],
    };
  },
  policies: (file) => {
    const store = SqlitePolicyStore.open(file);
    return {
      close: () => store.close(),
      changes: [
        () => store.change("acme", () => ({ ...NO_POLICY, labels: { a: "b" } }), "me"),
        () => store.change("acme", () => NO_POLICY, "me"),
      ],
    };
  },
  packages: (file) => {
    const store = PackageStore.open(file);
    return {
      close: () => store.close(),
      changes: [
        () => store.pin({ container: "acme", name: "hello" }, "key"),
        () => store.addPermit({ entry: "zod", by: "me", at: NOW_MS }),
        () => store.removePermit("zod"),
        () => store.removeArtefact("key"),
      ],
    };
  },
};

for (const [name, open] of Object.entries(STORES)) {
  test(`changes of ${name} wait for the lock of another process while the thread does other work`, async (t) => {
    const file = join(await temporaryFolder(t), "store.sqlite");
    const { close, changes } = open(file);
    t.after(close);
    const { release } = takeLock(t, file);
    let settled = 0;
    const made = changes.map(async (change) => {
      await change();
      settled++;
    });
    for (let turns = 0; turns < 3; turns++) await turn();
    assert.equal(settled, 0);
    release();
    await Promise.all(made);
    assert.equal(settled, changes.length);
  });
}

test("the revocation that waited for the lock takes effect once, although two callers asked for it", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const store = SqliteTokenStore.open(file, NOW_MS);
  t.after(() => store.close());
  const told: unknown[] = [];
  store.onRevoked((jtis) => told.push(...jtis));
  const { release } = takeLock(t, file);
  const both = Promise.all([store.revoke(JTI, "one", NOW_MS), store.revoke(JTI, "two", NOW_MS)]);
  release();
  assert.deepEqual(await both, [true, false]);
  assert.deepEqual([told, store.revocation(JTI)?.by], [[JTI], "one"]);
});

test("the use of tokens, which is counted again a second later, does not wait for a lock", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const store = SqliteTokenStore.open(file, NOW_MS);
  t.after(() => store.close());
  takeLock(t, file);
  const problem = await problemOf(() => store.addUse(new Map([[JTI, { runs: 1, lastMs: NOW_MS }]])));
  assert.equal(problem.code, "store_unavailable");
  assert.equal((problem.cause as { errstr?: string }).errstr, "database is locked");
});

test("a lock that stays taken fails the changes that wait, and the next change is made at once", async () => {
  const queue = new LockQueue(0);
  const taken = Object.assign(new Error("database is locked"), { errcode: 5 });
  let isTaken = true;
  const change = (): string => {
    if (isTaken) throw new Error("the store cannot be written", { cause: taken });
    return "changed";
  };
  const outcomes = await Promise.allSettled([queue.run(change), queue.run(change)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  isTaken = false;
  await turn();
  assert.equal(queue.run(change), "changed");
});

test("another error than a taken lock is thrown at once", () => {
  const queue = new LockQueue();
  assert.throws(() => queue.run(() => assert.fail("full disk")), /full disk/);
});
