import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";

import { nextTurn } from "../../src/next-turn.ts";
import { PackageStore } from "../../src/packages/package-store.ts";
import type { PermitStore } from "../../src/packages/permit-store.ts";
import { Permits } from "../../src/packages/permits.ts";
import type { PackagesClaim } from "../../src/packages/policy.ts";
import { Feed } from "../../src/redis/feed.ts";
import { openShared } from "../../src/stores.ts";
import { until } from "../contract/until.ts";
import { missing, type RedisServer, startRedis } from "../redis/server.ts";

interface UnderTest {
  readonly store: PermitStore;
  /** Opens the store again, as another start does. */
  readonly again: () => Promise<PermitStore>;
  readonly end: () => Promise<void>;
}

const ZOD = { entry: "zod", by: "a1", at: 1_800_000_000_000 };
const ACME = { entry: "@acme/*", by: "a2", at: 1_800_000_000_001 };

/** The promises of both lists of packages. */
function permitStoreSuite(subject: string, open: () => Promise<UnderTest>): void {
  it(`${subject} has each entry once, in order, reports each change, and keeps them when it is opened again`, async () => {
    const { store, again, end } = await open();
    try {
      let changes = 0;
      store.onPermits(() => (changes += 1));
      assert.deepEqual(store.permits, []);
      assert.equal(await store.addPermit(ZOD), true);
      assert.equal(changes, 1);
      assert.equal(await store.addPermit({ ...ZOD, by: "other" }), false);
      assert.equal(await store.addPermit(ACME), true);
      assert.deepEqual(store.permits, [ACME, ZOD]);
      assert.deepEqual((await again()).permits, [ACME, ZOD]);
      const before = changes;
      assert.equal(await store.removePermit("zod"), true);
      assert.ok(changes > before);
      assert.equal(await store.removePermit("zod"), false);
      assert.deepEqual(store.permits, [ACME]);
      assert.deepEqual((await again()).permits, [ACME]);
    } finally {
      await end();
    }
  });
}

permitStoreSuite("the list of the data folder", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-permits-"));
  const open: PackageStore[] = [];
  const make = (): PackageStore => {
    open.push(PackageStore.open(path.join(folder, "packages.sqlite")));
    return open.at(-1)!;
  };
  return {
    store: make(),
    again: () => Promise.resolve(make()),
    end: async () => {
      for (const each of open) each.close();
      await rm(folder, { recursive: true });
    },
  };
});

it("a text that was read before is judged by the list of now and by the claim of its caller", () => {
  const listeners: (() => void)[] = [];
  let permits = [ZOD];
  const store = {
    get permits() {
      return permits;
    },
    onPermits: (listener: () => void) => void listeners.push(listener),
  };
  const judge = new Permits(store as unknown as PermitStore, { mode: "listed", allow: [] }, Date.now);
  const named = (claim: PackagesClaim): string => {
    try {
      return judge.named([Buffer.from('import { z } from "npm:zod@4"')], null, claim)!.ranges["zod"]!;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  assert.deepEqual(
    [named(null), named(null), named(false), named(["zod"]), named(["other"]), named(null)],
    [...["4", "4", "packages_forbidden"], ...["4", "packages_forbidden", "4"]],
  );
  const text = Buffer.from('import { z } from "npm:zod@4"');
  assert.throws(() => judge.named([text], { zod: "^4.1" }, null), { code: "request_invalid" });
  permits = [];
  for (const listener of listeners) listener();
  assert.equal(named(null), "packages_forbidden");
  // More texts than are remembered.
  permits = [ZOD];
  for (const listener of listeners) listener();
  for (let at = 0; at < 300; at++) {
    const long = `import "npm:zod@4.${at}"; ${" ".repeat(15_000)}`;
    for (let twice = 0; twice < 2; twice++) assert.equal(judge.named([long], null, null)!.ranges["zod"], `4.${at}`);
  }
});

it("a long text is read in slices between which others have turns, with the result of one step", async () => {
  const store = { permits: [], onPermits: () => {} };
  const judge = new Permits(store as unknown as PermitStore, { mode: "any", allow: [] }, Date.now);
  const text = `import "npm:zod@4"; ${'"short";'.repeat(120_000)}`;
  let turns = 0;
  const reader = { isDone: false };
  const reading = Promise.resolve(judge.namedInTurns([text], { hono: "4" }, null, "asks")).finally(
    () => (reader.isDone = true),
  );
  const others = (async () => {
    for (; !reader.isDone; turns++) await nextTurn("others");
  })();
  assert.deepEqual(await reading, judge.named([text], { hono: "4" }, null));
  await others;
  assert.ok(turns > 1, `${turns} turns`);
  const early = judge.namedInTurns([text], null, null, "asks");
  assert.ok(early instanceof Promise, "a long text is never read in the turn of its request");
  await early;
});

describe("on Redis", { skip: await missing("redis-server") }, () => {
  const shared: { close(): void }[] = [];
  const open = async (server: RedisServer): Promise<PermitStore> => {
    const opened = await openShared({ revocationLag: 2_000 }, await server.link());
    shared.push(opened);
    return opened.permits;
  };
  const end = async (server: RedisServer): Promise<void> => {
    for (const each of shared.splice(0)) each.close();
    await server[Symbol.asyncDispose]();
  };

  permitStoreSuite("the list of all nodes", async () => {
    const server = await startRedis();
    return { store: await open(server), again: () => open(server), end: () => end(server) };
  });

  it("other nodes receive each change, and ignore an entry that is none", async () => {
    const server = await startRedis();
    try {
      const [one, other] = [await open(server), await open(server)];
      let changes = 0;
      other.onPermits(() => (changes += 1));
      await one.addPermit(ZOD);
      await until(() => changes > 0, "the other node has the change");
      assert.deepEqual(other.permits, [ZOD]);
      const forger = new Feed(await server.link(), [], 2_000);
      await forger.publish("packages", "../x", JSON.stringify({ by: "x", at: 1 }));
      await forger.publish("packages", "lodash", "{");
      assert.deepEqual((await open(server)).permits, [ZOD]);
    } finally {
      await end(server);
    }
  });
});
