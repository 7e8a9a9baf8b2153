import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { Problem } from "../../src/errors.ts";
import { mustBeRunnable } from "../../src/http/run/find-task.ts";
import type { Lock } from "../../src/packages/model.ts";
import { SqliteTaskStore } from "../../src/tasks/stores/sqlite.ts";
import type { TaskCode } from "../../src/tasks/task-code.ts";
import type { Task } from "../../src/tasks/task.ts";
import { Tasks } from "../../src/tasks/tasks.ts";
import type { Caller } from "../../src/tokens/caller.ts";
import { revokeKey, rotateKeys } from "../../src/tokens/keys/key-rotation.ts";
import { SqliteSecretStore } from "../../src/tokens/secrets/stores/sqlite.ts";
import type { Tokens } from "../../src/tokens/token-service.ts";
import { callerOf, problemOf, signed, START_S, testTokens } from "../tokens/support.ts";
import { NO_PACKAGES } from "./no-packages.ts";

const AT = { container: "acme", name: "task" };
const always = (): boolean => true;
const atOnce = (): Promise<void> => Promise.resolve();
const ROOM = { containerTasks: 2, familyTasks: 100, familyTaskBytes: 2 ** 20 };
const OPTIONS = { ...ROOM, codeLimit: 1_000, packages: NO_PACKAGES, admitIssue: () => Promise.resolve() };
const limitsOfToken = { token: { day: 9 } };

interface Kept {
  tasks: Tasks;
  store: SqliteTaskStore;
  tokens: Tokens & { clock: { nowMs: number }; folder: string };
  admin: Caller;
}

function factsOf({ version, caller, errors, record }: Task): unknown[] {
  return [version, caller.claims.timeout, errors, record];
}

async function testTasks(t: TestContext): Promise<Kept> {
  const tokens = await testTokens(t);
  const store = SqliteTaskStore.open(join(tokens.folder, "tasks.sqlite"));
  t.after(() => store.close());
  const tasks = new Tasks(store, tokens, { ...OPTIONS, nowMs: () => tokens.clock.nowMs });
  const { claims } = await tokens.issue({ admin: true, exp: null }, "me");
  return { tasks, store, tokens, admin: callerOf(claims) };
}

test("a task and its caller stay the same objects until the task changes", async (t) => {
  const { tasks, admin } = await testTasks(t);
  await tasks.put(AT, { code: "1" }, admin, always);
  const task = await tasks.find("acme", "task");
  assert.equal(await tasks.find("acme", "task"), task);
  await tasks.put(AT, { params: { a: 1 } }, admin, always);
  assert.notEqual(await tasks.find("acme", "task"), task);
});

test("an administrator's task has no end until a request sets one, and keeps that until the next request", async (t) => {
  const { tasks, admin } = await testTasks(t);
  const expOf = async (members: object): Promise<number | null> => {
    return (await tasks.put(AT, members, admin, always)).task.caller.claims.exp;
  };
  assert.equal(await expOf({ code: "1" }), null);
  assert.equal(await expOf({ expiresIn: "1h" }), START_S + 3_600);
  assert.equal(await expOf({ params: { a: 1 } }), START_S + 3_600);
  assert.equal(await expOf({ exp: START_S + 60 }), START_S + 60);
  assert.equal(await expOf({ exp: null }), null);
});

test("a task of another token ends with that token", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"], exp: START_S + 60 }, "me");
  await tasks.put(AT, { code: "1" }, admin, always);
  const { task } = await tasks.put(AT, { params: { a: 1 } }, callerOf(claims), always);
  assert.deepEqual([task.caller.claims.exp, task.caller.claims.parents], [START_S + 60, [claims.jti]]);
  for (const exp of [null, START_S + 61]) {
    const problem = await problemOf(() => tasks.put(AT, { exp }, callerOf(claims), always));
    assert.match(problem.message, /exp/);
  }
});

test("an expired task runs nothing, and is created again by the next PUT", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const first = await tasks.put(
    AT,
    { code: "1", exp: START_S + 60, secrets: { KEY: "x" }, public: true },
    admin,
    always,
  );
  assert.equal(mustBeRunnable(first.task, null, tokens.verifier), first.task);
  tokens.clock.nowMs = (START_S + 66) * 1_000;
  const problem = await problemOf(() => mustBeRunnable(first.task, null, tokens.verifier));
  assert.match(`${problem.code} ${problem.message}`, /token_invalid the task has ended.*expired/);
  const partial = await problemOf(() => tasks.put(AT, { public: true }, admin, always));
  assert.match(`${partial.code} ${partial.message}`, /request_invalid.*code is missing: the task has ended/);
  const { task, change } = await tasks.put(AT, { code: "1" }, admin, always);
  assert.deepEqual([change, task.version, task.public, task.caller.claims.exp], ["changed", 2, false, null]);
  assert.notEqual(task.caller.claims.jti, first.task.caller.claims.jti);
  assert.equal(await tokens.vault.of(task.owner), null);
});

test("secrets last as long as the task, even if the task is extended", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  await tasks.put(AT, { code: "1", exp: START_S + 60, secrets: { KEY: "x" } }, admin, always);
  await tasks.put(AT, { exp: START_S + 3_600 }, admin, always);
  tokens.clock.nowMs = (START_S + 600) * 1_000;
  // The next write deletes ended secrets.
  await tokens.issue({ containers: ["a"], secretsReadable: true, secrets: { A: "1" } }, "me");
  const task = await tasks.find("acme", "task");
  assert.deepEqual(JSON.parse((await tokens.vault.of(task!.owner))!.json), { KEY: "x" });
});

for (const next of ["change", "deletion"]) {
  test(`the next ${next} of a task ends the tokens that a killed service has left behind`, async (t) => {
    const { tasks, tokens, admin } = await testTasks(t);
    // A task below another token has another token.
    const issue = async (): Promise<Caller> =>
      callerOf((await tokens.issue({ containers: ["acme"], can: ["tasks"] }, "me")).claims);
    const [one, other] = [await issue(), await issue()];
    const jtis = [(await tasks.put(AT, { code: "1" }, admin, always)).task.caller.claims.jti];
    const record = t.mock.method(tokens.store, "record", () => {
      throw new Error("killed");
    });
    for (const [by, code] of [
      [one, "2"],
      [other, "3"],
    ] as const) {
      // The version is stored, but neither the record of its token nor the end of the token before.
      await assert.rejects(tasks.put(AT, { code }, by, always), /killed/);
      jtis.push((await tasks.find("acme", "task"))!.caller.claims.jti);
    }
    record.mock.restore();
    assert.equal(mustBeRunnable(await tasks.find("acme", "task"), null, tokens.verifier).version, 3);
    assert.equal(tokens.store.isRevoked(jtis[0]!), false);
    if (next === "change") jtis.push((await tasks.put(AT, { code: "4" }, admin, always)).task.caller.claims.jti);
    else await tasks.remove(AT, admin, always);
    const issued = await Promise.all(jtis.map(async (jti) => (await tokens.store.issued(jti)) !== undefined));
    const valid = jtis.filter((jti, at) => issued[at] && !tokens.store.isRevoked(jti));
    assert.deepEqual(valid, next === "change" ? jtis.slice(3) : []);
  });
}

test("a task below a token at the maximum depth is rejected", async (t) => {
  const { tasks, tokens } = await testTasks(t);
  const can = ["run", "tasks", "issue"];
  let { claims } = await tokens.issue({ containers: ["acme"], can, depth: 4 }, "me");
  for (let depth = 3; depth >= 0; depth--) {
    const { task } = await tasks.put(AT, { code: `${depth}` }, callerOf(claims), always);
    assert.deepEqual(task.caller.claims.parents, [claims.jti, ...claims.parents]);
    ({ claims } = await tokens.issue({ containers: ["acme"], can, depth }, callerOf(claims)));
  }
  const problem = await problemOf(() => tasks.put(AT, { code: "1" }, callerOf(claims), always));
  assert.match(`${problem.code} ${problem.message}`, /token_forbidden.*at the maximum depth/);
});

test("a token that ends while the packages of its change are built publishes nothing, also by a rollback", async (t) => {
  const { store, tokens, tasks: before, admin } = await testTasks(t);
  await before.put(AT, { code: "1" }, admin, always);
  await before.put(AT, { code: "2" }, admin, always);
  const claims = { containers: ["acme"], can: ["run", "tasks"] };
  const lock: Lock = {
    ...{ key: "k", ranges: {}, entries: [], roots: {}, packages: [] },
    builder: "",
    requestedBy: "",
    at: 0,
  };
  let whileBuilt: () => Promise<unknown> = atOnce;
  const lockOf = (): Promise<Lock> => whileBuilt().then(() => lock);
  const packages = { ...NO_PACKAGES, lockOf, permits: { ...NO_PACKAGES.permits, namedInTurns: () => lock } };
  const tasks = new Tasks(store, tokens, { ...OPTIONS, packages, nowMs: () => tokens.clock.nowMs });
  const refused = async (change: (by: Caller) => Promise<unknown>, end: (jti: string) => unknown): Promise<void> => {
    const issued = await tokens.issue({ ...claims, expiresIn: "1h" }, "me");
    whileBuilt = async () => end(issued.claims.jti);
    assert.equal((await problemOf(() => change(callerOf(issued.claims)))).code, "token_invalid");
    const task = await tasks.find("acme", "task");
    assert.deepEqual([task!.version, tasks.endOf(task!).revoked], [2, false]);
  };
  const put = (by: Caller): Promise<unknown> => tasks.put(AT, { code: "3" }, by, always);
  const revoke = (jti: string): Promise<unknown> => tokens.revoke(jti, "me");
  await refused(put, revoke);
  await refused((by) => tasks.rollBack(AT, 1, undefined, by, always), revoke);
  await refused(put, () => (tokens.clock.nowMs += 7_200_000));
  whileBuilt = atOnce;
  await tasks.put(AT, { code: "3" }, admin, always);
  assert.equal((await tasks.find("acme", "task"))!.version, 3);
});

test("a task beyond the maximum of its container is rejected, and leaves no secret behind", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const put = async (name: string, members: object): Promise<unknown> => {
    return await tasks.put({ container: "acme", name }, members, admin, always);
  };
  for (const name of ["one", "two"]) await put(name, { code: "1" });
  const problem = await problemOf(() => put("three", { code: "1", secrets: { KEY: "x" } }));
  assert.match(`${problem.code} ${problem.message}`, /quota_exceeded the container has 2 named tasks/);
  const secrets = SqliteSecretStore.open(join(tokens.folder, "secrets.sqlite"), () => tokens.clock.nowMs);
  t.after(() => secrets.close());
  assert.ok(secrets.isEmpty());
  await put("two", { params: { a: 1 } });
  await tasks.remove({ container: "acme", name: "one" }, admin, always);
  await put("three", { code: "1" });
});

test("the token of a deleted task is deleted a day later, and that of a task that was only revoked is kept", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const { task: deleted } = await tasks.put(AT, { code: "1" }, admin, always);
  await tasks.remove(AT, admin, always);
  const { task: replaced } = await tasks.put(AT, { code: "1" }, admin, always);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"], expiresIn: "30d" }, "me");
  const { task: last } = await tasks.put(AT, { fresh: true }, callerOf(claims), always);
  await tokens.revoke(last.caller.claims.jti, "me");
  const jtis = [deleted, replaced, last].map((task) => task.caller.claims.jti);
  assert.deepEqual(
    jtis.map((jti) => tokens.store.isRevoked(jti)),
    [true, true, true],
  );
  tokens.clock.nowMs += 2 * 86_400_000;
  await tokens.issue({ containers: ["acme"] }, "me");
  assert.deepEqual(
    jtis.map((jti) => tokens.store.isRevoked(jti)),
    [false, false, true],
  );
  const known = await Promise.all(jtis.map(async (jti) => (await tokens.store.issued(jti)) !== undefined));
  assert.deepEqual(known, [false, false, true]);
});

test("a rollback is checked like a PUT of the version", async (t) => {
  const { tasks, store, tokens, admin } = await testTasks(t);
  const limits = { container: { minute: 5 }, token: { day: 9 } };
  await tasks.put(AT, { code: "x".repeat(900), limits }, admin, always);
  await tasks.put(AT, { code: "1" }, admin, always);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"] }, "me");
  // The limits of containers are those of the calling token, whatever the version contains.
  assert.deepEqual(
    (await tasks.put(AT, { params: { a: 1 } }, callerOf(claims), always)).task.caller.claims.limits,
    limitsOfToken,
  );
  assert.deepEqual(
    (await tasks.rollBack(AT, 1, undefined, callerOf(claims), always)).caller.claims.limits,
    limitsOfToken,
  );
  const smaller = new Tasks(store, tokens, { ...OPTIONS, codeLimit: 899 });
  const problem = await problemOf(() => smaller.rollBack(AT, 1, { "a b": 1 }, admin, always));
  assert.equal(problem.code, "request_invalid");
  assert.match(JSON.stringify(problem.options.violations), /has 900 bytes.*secrets.a b/);
});

test("an administrator's secrets stay after an administrator's change, and are deleted if a token changes the params", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  await tasks.put(AT, { code: "1", secrets: { KEY: "x" } }, admin, always);
  const { task } = await tasks.put(AT, { params: { a: 1 } }, admin, always);
  assert.deepEqual([task.secretsBy, await tokens.vault.own(task.owner)], [[], { KEY: "x" }]);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"] }, "me");
  const changed = await tasks.put(AT, { params: { a: 2 } }, callerOf(claims), always);
  assert.deepEqual(await tokens.vault.own(changed.task.owner), {});
});

test("timeout, errors and record stay until a request changes them, and a rollback restores them", async (t) => {
  const { tasks, admin } = await testTasks(t);
  const put = async (members: object): Promise<unknown[]> =>
    factsOf((await tasks.put(AT, members, admin, always)).task);
  assert.deepEqual(await put({ code: "1" }), [1, null, "hidden", null]);
  assert.deepEqual(await put({ timeout: "5000ms", errors: "shown", record: "input" }), [2, "5s", "shown", "input"]);
  assert.deepEqual(await put({ params: { a: 1 } }), [3, "5s", "shown", "input"]);
  assert.deepEqual(await put({ timeout: null, record: null }), [4, null, "shown", null]);
  assert.deepEqual(await put({ errors: "hidden" }), [5, null, "hidden", null]);
  assert.deepEqual(factsOf(await tasks.rollBack(AT, 3, undefined, admin, always)), [6, "5s", "shown", "input"]);
  assert.deepEqual(factsOf(await tasks.rollBack(AT, 1, undefined, admin, always)), [7, null, "hidden", null]);
  const versions: unknown[] = [];
  for await (const task of tasks.versions(AT, admin)) versions.push(factsOf(task));
  assert.deepEqual(versions.slice(0, 2), [
    [7, null, "hidden", null],
    [6, "5s", "shown", "input"],
  ]);
});

test("a task is a tool until a request changes that, and a rollback restores it with its input", async (t) => {
  const { tasks, admin } = await testTasks(t);
  const put = async (members: object): Promise<unknown[]> => {
    const { tool, input, version } = (await tasks.put(AT, members, admin, always)).task;
    return [version, tool, input];
  };
  const input = { type: "object", required: ["n"] };
  assert.deepEqual(await put({ code: "1" }), [1, false, null]);
  assert.deepEqual(await put({ tool: true, input }), [2, true, input]);
  assert.deepEqual(await put({ tool: true, input: { required: ["n"], type: "object" } }), [2, true, input]);
  assert.deepEqual(await put({ code: "2" }), [3, true, input]);
  assert.deepEqual(await put({ tool: false, input: null }), [4, false, null]);
  const { tool, input: restored } = await tasks.rollBack(AT, 3, undefined, admin, always);
  assert.deepEqual([tool, restored], [true, input]);
  const problem = await problemOf(() => {
    return tasks.put({ container: "acme", name: "a.b" }, { code: "1", tool: true, input: {} }, admin, always);
  });
  assert.equal(problem.code, "request_invalid");
  assert.deepEqual(problem.options.violations!.map((each) => (each as { member: string }).member).toSorted(), [
    "input",
    "tool",
  ]);
});

test("a PUT of the same timeout, errors and record changes nothing", async (t) => {
  const { tasks, admin } = await testTasks(t);
  await tasks.put(AT, { code: "1", timeout: "5s", errors: "shown", record: "input" }, admin, always);
  for (const members of [{ timeout: "5000ms" }, { errors: "shown" }, { record: "input" }]) {
    assert.equal((await tasks.put(AT, members, admin, always)).change, "none", JSON.stringify(members));
  }
  for (const members of [{ timeout: "6s" }, { errors: "hidden" }, { record: null }]) {
    assert.equal((await tasks.put(AT, members, admin, always)).change, "changed", JSON.stringify(members));
  }
});

test("a task that an older version has stored hides its errors, keeps no input and has no timeout", async (t) => {
  const { tasks, store, admin } = await testTasks(t);
  const { task } = await tasks.put(AT, { code: "1", public: true, errors: "shown", record: "input" }, admin, always);
  const { errors, record, ...older } = JSON.parse(store.newest("acme", "task")!) as Record<string, unknown>;
  assert.deepEqual([errors, record], ["shown", "input"]);
  const stored = { ...older, version: 2, etag: "older" };
  const room = { ...ROOM, family: null, familyBytes: 2 ** 20 };
  const version = { version: 2, etag: "older", record: JSON.stringify(stored), code: "1" };
  assert.equal(store.put("acme", "task", version, task.etag, room), "stored");
  assert.deepEqual(factsOf((await tasks.find("acme", "task"))!), [2, null, "hidden", null]);
  const changed = await tasks.put(AT, { params: { a: 1 } }, admin, always);
  assert.deepEqual(factsOf(changed.task), [3, null, "hidden", null]);
});

test("a task inherits the timeout of the token that puts it, and may only have a shorter one", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"], timeout: "5s" }, "me");
  const by = callerOf(claims);
  const put = async (members: object): Promise<unknown> => {
    return (await tasks.put(AT, members, by, always)).task.caller.claims.timeout;
  };
  assert.equal(await put({ code: "1" }), "5s");
  assert.equal(await put({ timeout: "1s" }), "1s");
  assert.equal(await put({ timeout: null }), "5s");
  const problem = await problemOf(() => tasks.put(AT, { timeout: "6s" }, by, always));
  assert.match(`${problem.code} ${problem.message}`, /token_forbidden.*timeout is longer .* which is 5s/);
  // A member that the request does not name needs the permission too.
  await tasks.put(AT, { timeout: "10s" }, admin, always);
  const kept = await problemOf(() => tasks.put(AT, { params: { a: 1 } }, by, always));
  assert.match(`${kept.code} ${kept.message}`, /token_forbidden.*timeout/);
  const invalid = await problemOf(() => tasks.put(AT, { timeout: "1ms", errors: "all", record: "output" }, by, always));
  assert.equal(invalid.code, "request_invalid");
  assert.deepEqual(invalid.options.violations!.map((each) => (each as { member: string }).member).toSorted(), [
    "errors",
    "record",
    "timeout",
  ]);
});

test("secrets are deleted if a token that did not set them shows errors, keeps inputs or lengthens the timeout", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const { claims } = await tokens.issue({ containers: ["acme"], can: ["tasks"] }, "me");
  const set = { code: "1", timeout: "5s", secrets: { KEY: "x" }, errors: "hidden", record: null };
  const keptBy = async (by: Caller, members: object, before: object = {}): Promise<boolean> => {
    await tasks.put(AT, { ...set, ...before }, admin, always);
    const { task } = await tasks.put(AT, members, by, always);
    return Object.keys(await tokens.vault.own(task.owner)).length > 0;
  };
  for (const members of [{ errors: "shown" }, { record: "input" }, { timeout: "6s" }, { timeout: null }]) {
    assert.equal(await keptBy(callerOf(claims), members), false, JSON.stringify(members));
    assert.equal(await keptBy(admin, members), true, JSON.stringify(members));
  }
  const open = { errors: "shown", record: "input" };
  for (const members of [
    { errors: "hidden" },
    { record: null },
    { timeout: "4s" },
    { limits: { token: { day: 9 } } },
  ]) {
    assert.equal(await keptBy(callerOf(claims), members, open), true, JSON.stringify(members));
  }
});

test("the token of a task is not a credential, even if the service's own key has signed it", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const { task } = await tasks.put(AT, { code: "1" }, admin, always);
  const { jti, containers, can, iat, code } = task.caller.claims;
  const payload = { iss: "caisson", aud: "caisson", jti, iat, containers, can, code, task: "acme/task" };
  const token = await signed(tokens.keys, JSON.stringify(payload));
  const problem = await problemOf(() => tokens.verifier.verify(token));
  assert.match(`${problem.code} ${problem.message}`, /token_invalid.*not a credential/);
});

test("a task ends with the key that signed the token above it, and is created again by the next PUT", async (t) => {
  const { tasks, tokens, admin } = await testTasks(t);
  const file = join(tokens.folder, "keys.json");
  const { kid } = tokens.keys.signing;
  const { token } = await tokens.issue({ containers: ["acme"], can: ["run", "tasks"] }, "me");
  await tasks.put(AT, { code: "1", public: true }, await tokens.verifier.verify(token), always);
  const ended = async (): Promise<unknown> => tasks.endOf((await tasks.list("acme", "", 1))[0]!);
  await rotateKeys(file, tokens.clock.nowMs);
  await tokens.keys.reload();
  mustBeRunnable(await tasks.find("acme", "task"), null, tokens.verifier);
  assert.deepEqual(await ended(), { expired: false, revoked: false });
  await revokeKey(file, kid, tokens.clock.nowMs);
  await tokens.keys.reload();
  const problem = await problemOf(async () => mustBeRunnable(await tasks.find("acme", "task"), null, tokens.verifier));
  assert.deepEqual([problem.code, /the task has ended: .* a key/.test(problem.message)], ["token_invalid", true]);
  assert.deepEqual(await ended(), { expired: false, revoked: true });
  await tasks.put(AT, { code: "1", public: true }, admin, always);
  mustBeRunnable(await tasks.find("acme", "task"), null, tokens.verifier);
});

test("a PUT that another PUT overtakes counts once, and its code is checked once", async (t) => {
  const { store, tokens, admin, tasks: others } = await testTasks(t);
  const steps: string[] = [];
  const admitIssue = (): Promise<void> => Promise.resolve(void steps.push("count"));
  const tasks = new Tasks(store, tokens, { ...OPTIONS, admitIssue, nowMs: () => tokens.clock.nowMs });
  const check = async (): Promise<void> => {
    steps.push("check");
    await others.put(AT, { code: "2", params: { of: "another" } }, admin, always);
  };
  const { task } = await tasks.put(AT, { code: "1" }, admin, always, check);
  assert.equal(task.version, 2);
  assert.deepEqual(task.caller.claims.params, { of: "another" });
  assert.deepEqual(steps, ["count", "check"]);
});

test("a PUT with code counts once against the rate, before its code is checked, also if the check rejects it", async (t) => {
  const { store, tokens, admin } = await testTasks(t);
  const steps: string[] = [];
  const admitIssue = (): Promise<void> => {
    if (steps.includes("full")) return Promise.reject(new Problem("token_limited", "the rate is used up"));
    steps.push("count");
    return Promise.resolve();
  };
  const tasks = new Tasks(store, tokens, { ...OPTIONS, admitIssue, nowMs: () => tokens.clock.nowMs });
  const check = ({ code }: TaskCode): Promise<void> => {
    steps.push("check");
    return code === ")" ? Promise.reject(new Problem("code_syntax", "not code")) : Promise.resolve();
  };
  const put = (members: object): Promise<unknown> => tasks.put(AT, members, admin, always, check);
  await put({ code: "1" });
  assert.deepEqual(steps.splice(0), ["count", "check"]);
  await put({ code: "1" });
  assert.deepEqual(steps.splice(0), []);
  await put({ params: { a: 1 } });
  assert.deepEqual(steps.splice(0), ["count"]);
  assert.equal((await problemOf(() => put({ code: ")" }))).code, "code_syntax");
  assert.deepEqual(steps.splice(0), ["count", "check"]);
  steps.push("full");
  assert.equal((await problemOf(() => put({ code: ")" }))).code, "token_limited");
  assert.deepEqual(steps, ["full"]);
});
