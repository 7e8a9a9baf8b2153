import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";

import { SqliteTaskStore } from "../../src/tasks/stores/sqlite.ts";
import type { TasksOptions } from "../../src/tasks/task-changer.ts";
import { Tasks } from "../../src/tasks/tasks.ts";
import type { Caller } from "../../src/tokens/caller.ts";
import type { Tokens } from "../../src/tokens/token-service.ts";
import { callerOf, problemOf, testTokens } from "../tokens/support.ts";
import { NO_PACKAGES } from "./no-packages.ts";

const AT = { container: "acme", name: "task" };
const always = (): boolean => true;
const OPTIONS: TasksOptions = {
  ...{ containerTasks: 2, familyTasks: 100, familyTaskBytes: 2 ** 20, codeLimit: 1_000 },
  ...{ packages: NO_PACKAGES, admitIssue: () => Promise.resolve() },
};

interface Opened {
  readonly tokens: Tokens;
  readonly store: SqliteTaskStore;
  readonly admin: Caller;
  /** A token below which a task gets another token. */
  readonly customer: Caller;
  /** Returns the `jti` of each owner of secrets. */
  readonly owners: () => string[];
  readonly start: () => Promise<Tasks>;
}

async function open(t: TestContext): Promise<Opened> {
  const tokens = await testTokens(t);
  const store = SqliteTaskStore.open(join(tokens.folder, "tasks.sqlite"));
  const secrets = new DatabaseSync(join(tokens.folder, "secrets.sqlite"), { readOnly: true });
  t.after(() => {
    secrets.close();
    store.close();
  });
  const admin = callerOf((await tokens.issue({ admin: true, exp: null }, "me")).claims);
  const customer = callerOf((await tokens.issue({ containers: ["acme"], can: ["tasks"] }, "me")).claims);
  return {
    ...{ tokens, store, admin, customer },
    owners: () => (secrets.prepare("SELECT jti FROM secrets").all() as { jti: string }[]).map(({ jti }) => jti),
    start: () => Tasks.open(store, tokens, { ...OPTIONS, nowMs: () => tokens.clock.nowMs }),
  };
}

/** Kills the service before a write: that write and all later ones fail, until the service starts again. */
function killBefore(t: TestContext, write: number, { tokens, store }: Opened): { readonly start: () => boolean } {
  let writes = 0;
  const wrap = (object: object, name: string): (() => void) => {
    const real = (object as Record<string, (...args: unknown[]) => unknown>)[name]!;
    const { mock } = t.mock.method(object as Record<string, () => unknown>, name, (...args: unknown[]) => {
      if (++writes >= write) throw new Error("killed");
      return real.apply(object, args);
    });
    return () => mock.restore();
  };
  const restores = [
    ...["record", "revoke", "retire"].map((name) => wrap(tokens.store, name)),
    ...["set", "forget"].map((name) => wrap(tokens.vault, name)),
    ...["put", "remove", "keepNote", "deleteNote"].map((name) => wrap(store, name)),
  ];
  return {
    start: () => {
      for (const restore of restores) restore();
      return writes >= write;
    },
  };
}

const changes: Record<string, (tasks: Tasks, by: Opened) => Promise<unknown>> = {
  "creation of a task": (tasks, { admin }) =>
    tasks.put({ ...AT, name: "new" }, { code: "1", secrets: { KEY: "x" } }, admin, always),
  "change of a task": (tasks, { admin }) => tasks.put(AT, { code: "2", secrets: { KEY: "y" } }, admin, always),
  "change of a task below another token": (tasks, { customer }) =>
    tasks.put(AT, { code: "2", secrets: { KEY: "y" } }, customer, always),
  "deletion of a task": (tasks, { admin }) => tasks.remove(AT, admin, always),
};

for (const [what, change] of Object.entries(changes)) {
  test(`a kill at any write of the ${what} leaves no token and no secrets after the next start`, async (t) => {
    for (let write = 1; ; write++) {
      const opened = await open(t);
      const { tokens, store, admin, customer, owners, start } = opened;
      const before = await start();
      await before.put(AT, { code: "1", secrets: { KEY: "x" } }, admin, always);
      const killed = killBefore(t, write, opened);
      await change(before, opened).catch((error: unknown) => assert.match(String(error), /killed/));
      const isKilled = killed.start();
      const tasks = await start();
      const stored = await Promise.all(["task", "new"].map(async (name) => tasks.find("acme", name)));
      const found = stored.filter((task) => task !== null);
      const issued = tokens.store.list("", 100) as { claims: { jti: string } }[];
      const valid = issued.map(({ claims }) => claims.jti).filter((jti) => !tokens.store.isRevoked(jti));
      const used = new Set([admin, customer, ...found.map(({ caller }) => caller)].map(({ claims }) => claims.jti));
      const at = `killed before write ${write}`;
      assert.deepEqual(
        valid.filter((jti) => !used.has(jti)),
        [],
        at,
      );
      assert.deepEqual(owners().toSorted(), found.map(({ owner }) => owner.jti).toSorted(), at);
      for (const task of found) assert.notEqual(await tokens.vault.of(task.owner), null, at);
      assert.deepEqual([...store.killedNotes()], [], at);
      if (!isKilled) return assert.ok(write > 4, "the change has several writes");
    }
  });
}

test("a change that is refused leaves no note", async (t) => {
  const { store, customer, start } = await open(t);
  const tasks = await start();
  await tasks.put(AT, { code: "1" }, customer, always);
  await tasks.put({ ...AT, name: "other" }, { code: "1" }, customer, always);
  const third = { ...AT, name: "third" };
  assert.equal((await problemOf(() => tasks.put(third, { code: "1" }, customer, always))).code, "quota_exceeded");
  assert.equal(store.killedNotes().size, 0);
});
