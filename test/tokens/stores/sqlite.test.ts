import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFile, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import type { Payload } from "../../../src/tokens/payload.ts";
import { TOKEN_DATABASE } from "../../../src/tokens/stores/sqlite-statements.ts";
import { SqliteTokenStore } from "../../../src/tokens/stores/sqlite.ts";
import { until } from "../../contract/until.ts";
import { problemOf, running, START_S, temporaryFolder } from "../support.ts";

const START_MS = START_S * 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function issuedPayload(exp: number | null): Payload {
  const base = { iss: "caisson", aud: "caisson", jti: randomUUID(), iat: START_S } as const;
  return exp === null ? { ...base, admin: true } : { ...base, exp, containers: ["demo"], can: ["run"] };
}

test("only the owner can read the files", async (t) => {
  const folder = await temporaryFolder(t);
  const registry = SqliteTokenStore.open(join(folder, "tokens.sqlite"), START_MS);
  t.after(() => registry.close());
  await registry.record(issuedPayload(null), "me", START_MS);
  for (const name of await readdir(folder)) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name);
});

test("the tokens below a token are found by indexes, also in a file of a version without these indexes", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const earlier = SqliteTokenStore.open(file, START_MS);
  const parents = [randomUUID(), randomUUID()];
  await earlier.record({ ...issuedPayload(START_S + 60), parents }, "me", START_MS);
  earlier.close();
  const database = new DatabaseSync(file);
  t.after(() => database.close());
  for (let at = 0; at < 4; at++) database.exec(`DROP INDEX issued_parent_${at}`);
  const store = SqliteTokenStore.open(file, START_MS);
  t.after(() => store.close());
  assert.equal(store.listBelow({ jti: parents[1]!, parents: [] }, "", 9).length, 1);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${TOKEN_DATABASE.statements.listBelow}`).all("x", "", 9);
  const steps = plan.map(({ detail }) => String(detail)).join("\n");
  for (let at = 0; at < 4; at++) assert.match(steps, new RegExp(`SEARCH issued USING .*INDEX issued_parent_${at} `));
  assert.match(steps, /SEARCH issued USING PRIMARY KEY \(jti=\?\)/);
  assert.doesNotMatch(steps, /SCAN issued|TEMP B-TREE FOR ORDER BY/);
});

test("a revocation applies at once and only once, even after a reopen", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const jti = randomUUID();
  const first = SqliteTokenStore.open(file, START_MS);
  assert.equal(first.isRevoked(jti), false);
  assert.equal(await first.revoke(jti, "me", START_MS), true);
  assert.equal(first.isRevoked(jti), true);
  assert.equal(await first.revoke(jti, "me", START_MS), false);
  first.close();
  const second = SqliteTokenStore.open(file, START_MS);
  assert.equal(second.isRevoked(jti), true);
  second.close();
});

test("an acknowledged revocation survives a kill of the process right after it", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const jti = randomUUID();
  const fixture = fileURLToPath(new URL("revoke-and-wait.ts", import.meta.url));
  const child = spawn(process.execPath, [fixture, file, jti], { stdio: ["pipe", "pipe", "inherit"] });
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  assert.deepEqual(await exit, [null, "SIGKILL"]);
  const registry = SqliteTokenStore.open(file, START_MS);
  t.after(() => registry.close());
  assert.equal(registry.isRevoked(jti), true);
});

test("a revocation survives soon also the loss of the write-ahead log, without which SQLite begins again without a word", async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, "tokens.sqlite");
  const jti = randomUUID();
  const first = SqliteTokenStore.open(file, START_MS);
  t.after(() => first.close());
  await first.revoke(jti, "me", START_MS);
  await until(async () => (await readFile(file)).includes(jti), "the revocation is in the file");
  const copy = join(folder, "copy.sqlite");
  await copyFile(file, copy);
  const second = SqliteTokenStore.open(copy, START_MS);
  t.after(() => second.close());
  assert.equal(second.isRevoked(jti), true);
});

test("revocations of one turn are one transaction, and each token is revoked once", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const store = SqliteTokenStore.open(file, START_MS);
  t.after(() => store.close());
  const told: string[][] = [];
  store.onRevoked((jtis) => told.push([...jtis]));
  const jtis = [randomUUID(), randomUUID()] as const;
  const revoked = await Promise.all(
    [jtis[0], jtis[1], jtis[0]].map(async (jti) => await store.revoke(jti, "me", START_MS)),
  );
  assert.deepEqual(revoked, [true, true, false]);
  assert.deepEqual(told, [[...jtis]]);
  assert.deepEqual(
    jtis.map((jti) => store.isRevoked(jti)),
    [true, true],
  );
});

test("a revocation that cannot be written is reported and does not apply", async (t) => {
  const registry = SqliteTokenStore.open(join(await temporaryFolder(t), "tokens.sqlite"), START_MS);
  registry.close();
  const jti = randomUUID();
  const problem = await problemOf(() => registry.revoke(jti, "me", START_MS));
  assert.equal(problem.code, "store_unavailable");
  assert.equal(registry.isRevoked(jti), false);
});

test("only a valid jti is revoked", async (t) => {
  const registry = SqliteTokenStore.open(join(await temporaryFolder(t), "tokens.sqlite"), START_MS);
  t.after(() => registry.close());
  const problem = await problemOf(() => registry.revoke("x".repeat(100_000), "me", START_MS));
  assert.equal(problem.code, "request_invalid");
  assert.ok(problem.message.length < 200);
});

test("a token that another process issues is known without a reopen", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const service = SqliteTokenStore.open(file, START_MS);
  const command = SqliteTokenStore.open(file, START_MS);
  t.after(() => service.close());
  const payload = issuedPayload(null);
  assert.equal(service.issued(payload.jti), undefined);
  await command.record(payload, "command line", START_MS + 1);
  command.close();
  const issued = service.issued(payload.jti);
  assert.equal(issued?.issuedBy, "command line");
  assert.equal(issued.issuedAt, START_MS + 1);
  assert.equal(issued.claims.admin, true);
});

test("an expired token is deleted a day after the last moment of its validity, and a token without an end never", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const clock = { nowMs: START_MS };
  const registry = SqliteTokenStore.open(
    file,
    START_MS,
    running(() => clock.nowMs),
  );
  const [short, lasting, next, unknown] = [
    issuedPayload(START_S + 3_600),
    issuedPayload(null),
    issuedPayload(null),
    randomUUID(),
  ];
  for (const payload of [short, lasting]) await registry.record(payload, "me", START_MS);
  for (const jti of [short.jti, lasting.jti, unknown]) await registry.revoke(jti, "me", START_MS);

  const forgetMs = START_MS + HOUR_MS + 5_000 + DAY_MS;
  clock.nowMs = forgetMs;
  await registry.record(issuedPayload(null), "me", forgetMs);
  assert.ok(registry.issued(short.jti) && registry.isRevoked(short.jti), "still known at the last moment");

  clock.nowMs = forgetMs + 1;
  await registry.record(next, "me", forgetMs + 1);
  assert.equal(registry.issued(short.jti), undefined);
  assert.equal(registry.isRevoked(short.jti), false);
  assert.ok(registry.issued(lasting.jti) && registry.isRevoked(lasting.jti) && registry.isRevoked(unknown));
  registry.close();
});

test("the use of an unrecorded token is not stored, because it would never be deleted", async (t) => {
  const registry = SqliteTokenStore.open(join(await temporaryFolder(t), "tokens.sqlite"), START_MS);
  t.after(() => registry.close());
  const [known, unknown] = [issuedPayload(null), randomUUID()];
  await registry.record(known, "me", START_MS);
  const use = { runs: 1, lastMs: START_MS };
  for (let time = 0; time < 2; time++) registry.addUse(new Map([known.jti, unknown].map((jti) => [jti, use])));
  assert.deepEqual([registry.use(known.jti)?.runs, registry.use(unknown)], [2, undefined]);
});

/** Creates a revoked token of a minute, and closes the store. */
async function revokedAndClosed(t: TestContext, clock: ReturnType<typeof running>): Promise<[string, Payload]> {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  const payload = issuedPayload(START_S + 60);
  const first = SqliteTokenStore.open(file, START_MS, clock);
  await first.record(payload, "me", START_MS);
  await first.revoke(payload.jti, "me", START_MS);
  first.close();
  return [file, payload];
}

test("opening deletes ended records too, if the system has run as long as its clock shows", async (t) => {
  const [file, payload] = await revokedAndClosed(
    t,
    running(() => START_MS),
  );
  const later = START_MS + 2 * DAY_MS;
  const second = SqliteTokenStore.open(
    file,
    later,
    running(() => later),
  );
  t.after(() => second.close());
  assert.equal(second.issued(payload.jti), undefined);
  assert.equal(second.isRevoked(payload.jti), false);
});

test("a clock that is days ahead deletes nothing, neither before nor after a reboot", async (t) => {
  const uptime = { boot: "a".repeat(32), ms: 1_000_000 };
  const clock = { sinceBoot: () => ({ ...uptime }) };
  const [file, payload] = await revokedAndClosed(t, clock);
  const minute = 60_000;
  for (const boot of ["a", "b", "c"]) {
    uptime.boot = boot.repeat(32);
    const ahead = SqliteTokenStore.open(file, START_MS + 30 * DAY_MS, clock);
    uptime.ms += minute;
    await ahead.record(issuedPayload(null), "me", START_MS + 30 * DAY_MS);
    ahead.close();
    const right = SqliteTokenStore.open(file, START_MS + minute, clock);
    assert.ok(right.isRevoked(payload.jti) && right.issued(payload.jti) !== undefined, boot);
    right.close();
  }
});

test("the clock catches up with a shutdown while the system runs", async (t) => {
  const uptime = { boot: "a".repeat(32), ms: 0 };
  const clock = { sinceBoot: () => ({ ...uptime }) };
  const [file, payload] = await revokedAndClosed(t, clock);
  Object.assign(uptime, { boot: "b".repeat(32), ms: 0 });
  const registry = SqliteTokenStore.open(file, START_MS + 2 * DAY_MS, clock);
  t.after(() => registry.close());
  assert.ok(registry.isRevoked(payload.jti));
  for (let passedMs = 0; passedMs < 2 * DAY_MS; passedMs += 600_000) {
    uptime.ms = passedMs;
    await registry.revoke(randomUUID(), "me", START_MS + 2 * DAY_MS + passedMs);
  }
  assert.ok(!registry.isRevoked(payload.jti));
});

test("a damaged file stops the start with a remedy, and stays unchanged", async (t) => {
  const file = join(await temporaryFolder(t), "tokens.sqlite");
  await writeFile(file, "this text is not a database, and it is longer than the head of a database. ".repeat(99));
  const before = await readFile(file);
  assert.throws(() => SqliteTokenStore.open(file, START_MS), /restore it from a backup/);
  assert.deepEqual(await readFile(file), before);
});
