import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";

import { Problem } from "../../src/errors.ts";
import { MAX_ARTEFACT_BYTES, requireOrdered } from "../../src/packages/check-built.ts";
import { givenUp } from "../../src/packages/fair-room.ts";
import { type BuildOrder, type Built, keyOfLock, type Lock, type PackageSet } from "../../src/packages/model.ts";
import type { KeptArtefact } from "../../src/packages/package-store.ts";
import type { Asker, Prepared } from "../../src/packages/shared-builds.ts";
import { testPackages } from "./fake-builder.ts";

const ZOD: PackageSet = { ranges: { zod: "^4" }, entries: ["zod"] };
const VERSIONS = { zod: ["3.25.0", "4.0.0", "4.1.0"], lodash: ["4.17.21"] };
const A: Asker = { family: "a", quotaFamily: "a", jti: "a1" };
const B: Asker = { family: "b", quotaFamily: "b", jti: "b1" };
const WAIT = { waitMs: 10_000 };
const DAY_MS = 86_400_000;

const exact = (zod: string): PackageSet => ({ ranges: { zod }, entries: ["zod"] });
const rootOf = ({ lock }: Prepared): string => lock.roots["zod"]!;

function versionsIn({ packages }: { readonly packages: readonly object[] }): string[] {
  return (packages as { versions: Record<string, string> }[]).flatMap(({ versions }) => Object.values(versions));
}

/** Returns artefacts of a family with these sizes, the oldest first. */
function artefacts(family: string, ...sizes: number[]): KeptArtefact[] {
  return sizes.map((bytes, at) => ({ key: `${family}${at}`, family, bytes, usedAt: 10 }));
}

/** Returns what others give up for an artefact that a family adds to a full store of 100 bytes. */
function given(stored: readonly KeptArtefact[], bytes: number): string[] {
  return givenUp(stored, "asks", { bytes, count: 1 }, { bytes, count: 0 }, { bytes: 100, count: 100 }, 10);
}

/** Returns a set with 400 KB of names. */
function longSet(at: number): PackageSet {
  const entries = Array.from({ length: 200 }, (_, each) => `zod/${at}/${each}/`.padEnd(2_000, "x"));
  return { ranges: { zod: "^4" }, entries };
}

function orderOf(range: string): BuildOrder {
  return { set: exact(range), from: null, update: [], minAgeMs: 0, holder: "a", requestedBy: "a1" };
}

/** Returns the result of an order for a range of zod. */
function builtOf(range: string, version: string): Built {
  const packages = [{ name: "zod", version, integrity: "sha512-x", dependencies: {} }];
  const parts = { ...exact(range), roots: { zod: `zod@${version}` }, packages, builder: "1" };
  return { lock: { ...parts, key: keyOfLock(parts), requestedBy: "a1", at: 0 }, artefact: Buffer.of() };
}

/** Returns the code of the problem that a call fails with. */
async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "no problem";
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
}

describe("inline code", () => {
  test("is built once, and then found in memory at once", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    const first = await packages.resolve(ZOD, A, WAIT);
    assert.equal(rootOf(first), "zod@4.1.0");
    assert.equal(first.lock.requestedBy, "a1");
    const again = packages.ready({ ranges: { zod: "^4" }, entries: ["zod"] }, A, null);
    assert.equal(again?.artefact, first.artefact);
    assert.equal(builder.orders.length, 1);
  });

  test("with long names counts for the memory of locks with its names", async (t) => {
    const { packages } = await testPackages(t, VERSIONS, { maxBytes: 64 * 2 ** 20 });
    await packages.resolve(longSet(0), A, WAIT);
    assert.ok(packages.ready(longSet(0), A, null));
    for (let at = 1; at < 7; at++) await packages.resolve(longSet(at), A, WAIT);
    // 7 sets have 2.8 MB of names, each twice, and a family has a quarter of 16 MiB.
    assert.equal(packages.ready(longSet(0), A, null), null);
  });

  test("finds its lock and its artefact after a restart without the registry", async (t) => {
    const { packages, builder, reopen } = await testPackages(t, VERSIONS);
    const first = await packages.resolve(ZOD, A, WAIT);
    builder.isOnline = false;
    const after = await reopen().resolve(ZOD, A, WAIT);
    assert.deepEqual(after.lock, first.lock);
    assert.deepEqual(after.artefact.artefact, first.artefact.artefact);
    assert.equal(builder.orders.length, 1);
  });

  test("keeps its versions for 24 h, and then until a build has found newer ones", async (t) => {
    const { packages, builder, clock } = await testPackages(t, VERSIONS);
    await packages.resolve(ZOD, A, WAIT);
    builder.versions["zod"]!.push("4.2.0");
    clock.nowMs += DAY_MS - 1;
    assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.1.0");
    clock.nowMs += 1;
    const gate = Promise.withResolvers<void>();
    builder.gate = gate.promise;
    assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.1.0");
    const joined = packages.lockOf(ZOD, null, [], A, WAIT);
    gate.resolve();
    await joined;
    await until(async () => rootOf(await packages.resolve(ZOD, A, WAIT)) === "zod@4.2.0");
    assert.equal(builder.orders.length, 2);
  });

  test("keeps its versions for longer while the registry does not answer", async (t) => {
    const { packages, builder, clock } = await testPackages(t, VERSIONS);
    await packages.resolve(ZOD, A, WAIT);
    builder.isOnline = false;
    for (let day = 0; day < 5; day++) {
      clock.nowMs += DAY_MS;
      assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.1.0");
    }
  });

  test("of one family decides nothing for another family", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    await packages.resolve(ZOD, A, WAIT);
    builder.versions["zod"]!.push("4.2.0");
    assert.equal(rootOf(await packages.resolve(ZOD, B, WAIT)), "zod@4.2.0");
    assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.1.0");
  });

  test("that has the same set as code of another family is shown its own lock", async (t) => {
    const { packages } = await testPackages(t, VERSIONS);
    const { lock } = await packages.resolve(ZOD, A, WAIT);
    assert.equal(packages.storedOf(lock.key, B.family), null);
    await packages.resolve(ZOD, B, WAIT);
    assert.equal(packages.storedOf(lock.key, A.family)!.lock.requestedBy, "a1");
    assert.equal(packages.storedOf(lock.key, B.family)!.lock.requestedBy, "b1");
  });

  test("waits no longer than it may, and the build goes on", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    const gate = Promise.withResolvers<void>();
    builder.gate = gate.promise;
    assert.equal(await codeOf(() => packages.resolve(ZOD, A, { waitMs: 1 })), "packages_building");
    const stopped = AbortSignal.abort(new Error("the client has left"));
    assert.match(await codeOf(() => packages.resolve(ZOD, A, { ...WAIT, signal: stopped })), /the client has left/);
    gate.resolve();
    assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.1.0");
    assert.equal(builder.orders.length, 1);
  });

  test("that cannot be built is not tried again at each run, but later", async (t) => {
    const { packages, builder, clock } = await testPackages(t, {});
    for (let run = 0; run < 3; run++) {
      assert.equal(await codeOf(() => packages.resolve(ZOD, A, WAIT)), "packages_not_found");
    }
    assert.equal(builder.orders.length, 1);
    clock.nowMs += 30_001;
    builder.versions["zod"] = ["4.0.0"];
    assert.equal(rootOf(await packages.resolve(ZOD, A, WAIT)), "zod@4.0.0");
  });

  test("is ended if its token is revoked, also while it waits, and another token may order it again", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    builder.gate = new Promise(() => {});
    const [revoked, other] = [
      { ...A, caller: {} },
      { ...A, jti: "a2", caller: {} },
    ];
    const codes = ["^4", "4.0"].map((range) => codeOf(() => packages.resolve(exact(range), revoked, WAIT)));
    const joined = codeOf(() => packages.resolve(exact("4.0"), other, WAIT));
    packages.endBuilds((caller) => caller === revoked.caller);
    assert.deepEqual(await Promise.all([...codes, joined]), Array<string>(3).fill("packages_building"));
    assert.deepEqual(packages.building(null), []);
    assert.equal(builder.orders.length, 1);
    builder.gate = Promise.resolve();
    assert.equal(rootOf(await packages.resolve(exact("4.0"), other, WAIT)), "zod@4.0.0");
  });

  test("of a family that names many sets is refused until earlier builds are done, and others are not", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    const gate = Promise.withResolvers<void>();
    builder.gate = gate.promise;
    const sets = ["^4", "4.0", "^4.0.0", "4.1", "4.1.0"].map((zod): PackageSet => ({
      ranges: { zod },
      entries: ["zod"],
    }));
    const codes = sets.map((set) => codeOf(() => packages.resolve(set, A, WAIT)));
    assert.equal(await codes[4], "packages_building");
    const other = packages.resolve(ZOD, B, WAIT);
    gate.resolve();
    await other;
    // The second build of a family waits for its first, and not that of another family.
    const holders = builder.orders.map(({ holder }) => holder);
    assert.deepEqual(holders.slice(0, 2), ["a", "b"]);
    assert.deepEqual(
      await Promise.all(codes.slice(0, 4)),
      Array.from({ length: 4 }, () => "no problem"),
    );
  });
});

test("a family whose packages take long to fetch does not hold up those of another family", async (t) => {
  const { packages, builder } = await testPackages(t, VERSIONS);
  const gate = Promise.withResolvers<void>();
  builder.gate = gate.promise;
  const slow = ["4.0.0", "4.1.0"].map(async (zod) => await packages.resolve(exact(zod), A, WAIT));
  await until(() => Promise.resolve(builder.orders.length === 1));
  builder.gate = Promise.resolve();
  assert.equal(rootOf(await packages.resolve(ZOD, B, WAIT)), "zod@4.1.0");
  assert.deepEqual(
    builder.orders.map(({ holder }) => holder),
    ["a", "b"],
  );
  gate.resolve();
  await Promise.all(slow);
});

describe("a task", () => {
  test("gets the versions that inline code of its family has, and keeps them", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    const { lock: tried } = await packages.resolve(ZOD, A, WAIT);
    builder.versions["zod"]!.push("4.2.0");
    const lock = await packages.lockOf(ZOD, null, [], A, WAIT);
    assert.deepEqual(lock, tried);
    const both: PackageSet = { ranges: { lodash: "4", zod: "^4" }, entries: ["lodash", "zod"] };
    assert.deepEqual((await packages.lockOf(both, lock, [], A, WAIT)).roots, {
      lodash: "lodash@4.17.21",
      zod: "zod@4.1.0",
    });
  });

  test("moves only the packages that it updates", async (t) => {
    const { packages, builder } = await testPackages(t, { zod: ["4.0.0"], lodash: ["4.0.0"] });
    const both: PackageSet = { ranges: { lodash: "4", zod: "^4" }, entries: ["lodash", "zod"] };
    const lock = await packages.lockOf(both, null, [], A, WAIT);
    builder.versions["zod"]!.push("4.1.0");
    builder.versions["lodash"]!.push("4.1.0");
    assert.equal(await packages.lockOf(both, lock, [], A, WAIT), lock);
    const moved = await packages.lockOf(both, lock, ["zod"], A, WAIT);
    assert.deepEqual(moved.roots, { lodash: "lodash@4.0.0", zod: "zod@4.1.0" });
  });

  test("gets the same versions again when its artefact is gone, also from a newer builder", async (t) => {
    const { packages, builder, reopen } = await testPackages(t, VERSIONS);
    const lock = await packages.lockOf(ZOD, null, [], A, WAIT);
    builder.versions["zod"]!.push("4.2.0");
    assert.equal(await packages.artefacts.remove(lock.key), true);
    assert.equal(rootOf(await packages.prepare(lock, A, WAIT)), "zod@4.1.0");
    assert.equal(await packages.artefacts.remove(lock.key), true);
    builder.version = "2";
    const newer = reopen();
    const prepared = await newer.prepare(lock, A, WAIT);
    assert.equal(prepared.lock, lock);
    assert.equal(prepared.artefact.key, keyOfLock({ ...lock, builder: "2" }));
    assert.ok(newer.ready(lock, A, lock));
  });
});

describe("the store of artefacts", () => {
  const many = { zod: Array.from({ length: 20 }, (_, at) => `4.${at}.0`) };

  test("removes the least recently used first, of the family that takes more than its share", async (t) => {
    const { packages, builder, clock } = await testPackages(t, many, { maxBytes: 100_000 });
    builder.bytes = 10_000;
    const other = await packages.resolve(exact("4.9.0"), B, WAIT);
    const locks: Lock[] = [];
    for (let at = 0; at < 4; at++) {
      clock.nowMs += 1;
      locks.push((await packages.resolve(exact(`4.${at}.0`), A, WAIT)).lock);
    }
    const stored = await Promise.all(locks.map(async ({ key }) => (await packages.artefacts.get(key)) !== null));
    assert.deepEqual(stored, [false, false, true, true]);
    assert.notEqual(await packages.artefacts.get(other.lock.key), null);
    assert.equal(builder.orders.length, 5);
  });

  test("has a bound on the number of artefacts, of which a family has a quarter", async (t) => {
    const { packages, clock } = await testPackages(t, many, { maxCount: 8 });
    await packages.resolve(exact("4.9.0"), B, WAIT);
    for (let at = 0; at < 4; at++) {
      clock.nowMs += 1;
      await packages.resolve(exact(`4.${at}.0`), A, WAIT);
    }
    assert.deepEqual(versionsIn(packages.stored(A.family)), ["4.3.0", "4.2.0"]);
    assert.deepEqual(versionsIn(packages.stored(B.family)), ["4.9.0"]);
  });

  test("lists what a family has without a look at the locks, which may be large", async (t) => {
    const { packages, folder } = await testPackages(t, VERSIONS);
    await packages.resolve(ZOD, A, WAIT);
    await packages.resolve({ ranges: { lodash: "4" }, entries: ["lodash"] }, B, WAIT);
    using database = new DatabaseSync(path.join(folder, "packages.sqlite"));
    database.exec("UPDATE artefacts SET lock = 'not JSON'");
    assert.deepEqual(versionsIn(packages.stored(A.family)), ["4.1.0"]);
    assert.equal(packages.stored(null).packages.length, 2);
  });

  test("bounds the size of the locks of a family, and keeps those of others", async (t) => {
    const { packages, store, clock } = await testPackages(t, VERSIONS);
    const { lock } = await packages.resolve(ZOD, B, WAIT);
    const large: Lock = { ...lock, requestedBy: "x".repeat(2 ** 20) };
    for (let at = 0; at < 10; at++) await store.putLock("a", `set ${at}`, large, clock.nowMs + at);
    const kept = Array.from({ length: 10 }, (_, at) => store.lock("a", `set ${at}`, clock.nowMs) !== null);
    assert.deepEqual(kept, [false, false, false, true, true, true, true, true, true, true]);
    assert.notEqual(await packages.known(ZOD, B), null);
  });

  test("removes no artefact that the current version of a task names", async (t) => {
    const { packages, builder } = await testPackages(t, many, { maxBytes: 100_000 });
    builder.bytes = 10_000;
    const tasks = new Map<string, Lock>();
    packages.artefacts.isPinned = ({ name }, key) => packages.names(tasks.get(name) ?? null, key);
    for (const name of ["one", "two"]) {
      const lock = await packages.lockOf(exact(name === "one" ? "4.0.0" : "4.1.0"), null, [], A, WAIT);
      tasks.set(name, lock);
      await packages.pin({ container: "acme", name }, lock);
    }
    const orders = builder.orders.length;
    // A run uses what was built for it, from the memory.
    const inline = [];
    for (let run = 0; run < 3; run++) inline.push(await packages.resolve(exact("4.2.0"), A, WAIT));
    assert.equal(builder.orders.length, orders + 1);
    assert.equal(await packages.artefacts.get(inline[0]!.lock.key), null);
    const put = (): Promise<Lock> => packages.lockOf(exact("4.2.0"), null, [], A, WAIT);
    for (let change = 0; change < 2; change++) assert.equal(await codeOf(put), "quota_exceeded");
    assert.equal(builder.orders.length, orders + 1);
    assert.notEqual(await packages.artefacts.get(tasks.get("one")!.key), null);
    const gone = tasks.get("one")!;
    tasks.delete("one");
    await packages.pin({ container: "acme", name: "one" }, null);
    assert.equal((await put()).key, inline[0]!.lock.key);
    assert.notEqual(await packages.artefacts.get(inline[0]!.lock.key), null);
    assert.equal(await packages.artefacts.get(gone.key), null);
    assert.notEqual(await packages.artefacts.get(tasks.get("two")!.key), null);
  });

  test("keeps the artefact of a task that a run has built again, also of another builder", async (t) => {
    const { packages, builder } = await testPackages(t, many, { maxBytes: 100_000 });
    builder.bytes = 10_000;
    const lock = await packages.lockOf(exact("4.0.0"), null, [], A, WAIT);
    const task = { container: "acme", name: "one" };
    packages.artefacts.isPinned = (_, key) => packages.names(lock, key);
    await packages.pin(task, lock);
    await packages.artefacts.remove(lock.key);
    builder.version = "2";
    const { ranges, entries } = lock;
    const by = await packages.resolve({ ranges, entries }, A, WAIT, lock, task);
    for (const version of ["4.1.0", "4.2.0"]) await packages.resolve(exact(version), A, WAIT);
    assert.notEqual(await packages.artefacts.get(by.artefact.key), null);
  });

  test("takes from the family whose tasks need the most if they leave no room for a family with less", async (t) => {
    const { packages, clock } = await testPackages(t, many, { maxCount: 10 });
    const tasks = new Map<string, Lock>();
    packages.artefacts.isPinned = ({ name }, key) => packages.names(tasks.get(name) ?? null, key);
    const put = async (by: Asker, minor: number): Promise<Lock> => {
      clock.nowMs += 1;
      const lock = await packages.lockOf(exact(`4.${minor}.0`), null, [], by, WAIT);
      tasks.set(String(minor), lock);
      await packages.pin({ container: "acme", name: String(minor) }, lock);
      return lock;
    };
    const operator = await put({ family: "admin", quotaFamily: null, jti: "admin" }, 0);
    const families = ["c", "d", "e", "f"].map((family): Asker => ({ family, quotaFamily: family, jti: family }));
    const locks: Lock[] = [operator];
    for (const [at, by] of families.entries()) for (const more of [1, 2]) locks.push(await put(by, 2 * at + more));
    const last = await put(A, 9);
    assert.equal((await put(B, 10)).roots["zod"], "zod@4.10.0");
    const stored = await Promise.all([...locks, last].map(({ key }) => packages.artefacts.get(key)));
    assert.deepEqual(
      stored.map((each) => each !== null),
      [true, false, true, true, true, true, true, true, true, true],
    );
    // No family has more than this one would have then.
    assert.equal(await codeOf(() => put(A, 11)), "quota_exceeded");
  });

  test("gives a newcomer the room of the task that has not run for a week if each family has one", async (t) => {
    const { packages, clock } = await testPackages(t, many, { maxCount: 4 });
    const tasks = new Map<string, Lock>();
    packages.artefacts.isPinned = ({ name }, key) => packages.names(tasks.get(name) ?? null, key);
    const put = async (family: string, minor: number): Promise<Lock> => {
      clock.nowMs += 1;
      const lock = await packages.lockOf(
        exact(`4.${minor}.0`),
        null,
        [],
        { family, quotaFamily: family, jti: family },
        WAIT,
      );
      tasks.set(family, lock);
      await packages.pin({ container: "acme", name: family }, lock);
      return lock;
    };
    const locks = [];
    for (const [at, family] of ["c", "d", "e", "f"].entries()) locks.push(await put(family, at));
    assert.equal(await codeOf(() => put("new", 9)), "quota_exceeded");
    clock.nowMs += 8 * 86_400_000;
    // A run from the memory is a use, too.
    for (const used of [0, 2, 3]) await packages.prepare(locks[used]!, A, WAIT);
    await put("new", 9);
    const stored = await Promise.all(locks.map(({ key }) => packages.artefacts.get(key)));
    assert.deepEqual(
      stored.map((each) => each !== null),
      [true, false, true, true],
    );
  });

  test("takes from no family its last artefact, and nothing from a family that has less than the asking one", () => {
    assert.deepEqual(given([...artefacts("a", 40), ...artefacts("b", 60)], 10), []);
    assert.deepEqual(given([...artefacts("a", 20, 21), ...artefacts("b", 59)], 10), ["a0"]);
    assert.deepEqual(given([...artefacts("a", 20, 21), ...artefacts("b", 29, 30)], 20), ["b0"]);
    assert.deepEqual(given([...artefacts("a", 20, 20), ...artefacts("asks", 60)], 10), []);
  });

  test("builds a file again that a crash has cut or removed", async (t) => {
    const { packages, builder, folder, reopen } = await testPackages(t, VERSIONS);
    const { lock, artefact } = await packages.resolve(ZOD, A, WAIT);
    const file = path.join(folder, "packages", `${lock.key}.cjs`);
    await writeFile(file, "cut");
    const again = await reopen().resolve(ZOD, A, WAIT);
    assert.deepEqual(again.artefact.artefact, artefact.artefact);
    assert.equal(builder.orders.length, 2);
    assert.deepEqual(await readdir(path.join(folder, "packages")), [`${lock.key}.cjs`]);
  });

  test("removes files at its start that a crash has left without a place in the index", async (t) => {
    const { packages, folder, reopen } = await testPackages(t, VERSIONS);
    const { lock } = await packages.resolve(ZOD, A, WAIT);
    await writeFile(path.join(folder, "packages", `${"0".repeat(64)}.cjs`), "left");
    await writeFile(path.join(folder, "packages", `${lock.key}.cjs.0.new`), "left");
    reopen();
    assert.deepEqual(await readdir(path.join(folder, "packages")), [`${lock.key}.cjs`]);
  });

  test("reports a disk that cannot be written, and does not build again at each run", async (t) => {
    const { packages, builder, folder, clock } = await testPackages(t, VERSIONS);
    const { lock } = await packages.resolve(ZOD, A, WAIT);
    await packages.artefacts.remove(lock.key);
    // The file cannot take its place, as on a full disk.
    await mkdir(path.join(folder, "packages", `${lock.key}.cjs`, "used"), { recursive: true });
    for (let runs = 0; runs < 2; runs++) {
      await assert.rejects(
        async () => await packages.resolve(ZOD, B, WAIT),
        (error: Problem) => {
          assert.equal(error.code, "store_unavailable");
          assert.match(error.options.hint!, /full disk, in the log\. A run with this error has counted/);
          return true;
        },
      );
    }
    assert.equal(builder.orders.length, 2);
    // No part of it takes room.
    assert.deepEqual(await readdir(path.join(folder, "packages")), [`${lock.key}.cjs`]);
    clock.nowMs += 5_000;
    await codeOf(() => packages.resolve(ZOD, B, WAIT));
    assert.equal(builder.orders.length, 3);
  });

  test("accepts no artefact that is larger than the bound", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    builder.bytes = MAX_ARTEFACT_BYTES + 1;
    assert.equal(await codeOf(() => packages.resolve(ZOD, A, WAIT)), "packages_too_large");
  });
});

describe("the check of a build", () => {
  test("accepts what npm installs: the pre-release of a package that has no other version, and build metadata", () => {
    for (const [range, version] of [
      ["*", "1.0.0-beta.1"],
      ["^1.0.0", "1.2.3+build.5"],
      ["next", "2.0.0-rc.1"],
    ] as const) {
      requireOrdered(builtOf(range, version), orderOf(range));
    }
  });

  test("refuses a version that is none, or in another range", () => {
    for (const [range, version] of [
      ["^1.0.0", "1.2.3-beta.1"],
      ["^1.0.0", "2.0.0"],
      ["*", "v1.0.0"],
      ["*", "1.0.0 "],
      ["*", "1"],
    ] as const) {
      assert.throws(() => requireOrdered(builtOf(range, version), orderOf(range)), Problem);
    }
  });
});

describe("a builder that was taken over cannot name", () => {
  const victim = { ranges: { zod: "^4" }, entries: ["zod"] };
  const EVIL: PackageSet = { ranges: { evil: "1" }, entries: ["evil"] };
  const forgeries: Readonly<Record<string, (lock: Lock, other: Lock) => Lock>> = {
    "the key of another set": (lock, { key }) => ({ ...lock, key }),
    "the packages of another set": (lock, { packages, key }) => ({ ...lock, packages, key }),
    "the whole lock of another set": (_, other) => other,
    "the packages of another set for its own names": (lock, other) => {
      const lied = { ...lock, packages: other.packages, roots: { evil: "zod@4.1.0" } };
      return { ...lied, key: keyOfLock(lied) };
    },
    "a version outside of the range": (lock) => {
      const packages = lock.packages.map((each) => ({ ...each, version: "2.0.0" }));
      const lied = { ...lock, packages, roots: { evil: "evil@2.0.0" } };
      return { ...lied, key: keyOfLock(lied) };
    },
    "a dependency that is not in the lock": (lock) => {
      const lied = { ...lock, packages: lock.packages.map((each) => ({ ...each, dependencies: { x: "x@1.0.0" } })) };
      return { ...lied, key: keyOfLock(lied) };
    },
  };
  for (const [name, forge] of Object.entries(forgeries)) {
    test(name, async (t) => {
      const { packages, builder } = await testPackages(t, { ...VERSIONS, evil: ["1.0.0", "2.0.0"] });
      const honest = await packages.resolve(victim, B, WAIT);
      builder.forge = ({ lock }) => ({ lock: forge(lock, honest.lock), artefact: Buffer.from("poison") });
      assert.equal(await codeOf(() => packages.resolve(EVIL, A, WAIT)), "packages_failed");
      const after = await packages.artefacts.get(honest.lock.key);
      assert.deepEqual(after?.artefact, honest.artefact.artefact);
    });
  }

  test("other versions in the lock of a task that is built again", async (t) => {
    const { packages, builder } = await testPackages(t, VERSIONS);
    const lock = await packages.lockOf(ZOD, null, [], A, WAIT);
    await packages.artefacts.remove(lock.key);
    builder.forge = ({ lock: built, artefact }) => {
      const lied = { ...built, packages: built.packages.map((each) => ({ ...each, integrity: "sha512-x" })) };
      return { lock: { ...lied, key: keyOfLock(lied) }, artefact };
    };
    assert.equal(await codeOf(() => packages.prepare(lock, A, WAIT)), "packages_failed");
  });
});

/** Waits until a condition holds, with a turn of the event loop between the checks. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
