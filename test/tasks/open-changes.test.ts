import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import type { Lock } from "../../src/packages/model.ts";
import { SqliteTaskStore } from "../../src/tasks/stores/sqlite.ts";
import type { Changed } from "../../src/tasks/task-changer.ts";
import { Tasks } from "../../src/tasks/tasks.ts";
import { callerOf, problemOf, testTokens } from "../tokens/support.ts";
import { NO_PACKAGES } from "./no-packages.ts";

const AT = { container: "acme", name: "task" };
const always = (): boolean => true;
const BOUNDS = { containerTasks: 9, familyTasks: 9, familyTaskBytes: 2 ** 20, codeLimit: 1_000 };
const WITH = (version: number): { code: string } => ({ code: `import "npm:zod"; ${version}` });

const LOCK: Lock = {
  ...{ key: "k", ranges: { zod: "*" }, entries: ["zod"], roots: { zod: "zod@4.0.0" } },
  ...{ packages: [], builder: "1", requestedBy: "me", at: 0 },
};

/** A PUT whose packages are being built. */
interface Build {
  readonly put: Promise<Changed>;
  /** What the service does when it answers 202. */
  readonly answer: () => void;
  /** Ends the build. */
  readonly finish: () => void;
}

/** Opens two nodes on one store. A task with packages waits until its build is finished. */
async function nodes(t: TestContext): Promise<{
  readonly here: Tasks;
  readonly there: Tasks;
  readonly change: (node: Tasks, members: object) => Promise<Changed>;
  readonly begin: (node: Tasks, version: number) => Promise<Build>;
  readonly code: () => Promise<string | null>;
  readonly remove: (node: Tasks) => Promise<unknown>;
}> {
  const tokens = await testTokens(t);
  const { claims } = await tokens.issue({ admin: true, exp: null }, "me");
  const admin = callerOf(claims);
  let begun: ((finish: () => void) => void) | null = null;
  const packages = {
    ...NO_PACKAGES,
    permits: {
      require: () => {},
      namedInTurns: ([text]: readonly (string | Buffer)[]) =>
        text!.includes("npm:") ? { ranges: { zod: "*" }, entries: ["zod"] } : null,
    },
    lockOf: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      // A further attempt of the same change finds the packages built.
      if (begun === null) resolve();
      begun?.(resolve);
      begun = null;
      await promise;
      return LOCK;
    },
  };
  const open = (): Tasks => {
    const store = SqliteTaskStore.open(join(tokens.folder, "tasks.sqlite"));
    t.after(() => store.close());
    return new Tasks(store, tokens, { ...BOUNDS, packages, admitIssue: () => Promise.resolve() });
  };
  const here = open();
  return {
    here,
    there: open(),
    change: (node, members) => node.put(AT, members, admin, always),
    begin: async (node, version) => {
      const waits = Promise.withResolvers<() => void>();
      begun = waits.resolve;
      const progress = { isBuilding: false, isAnswered: false };
      const put = node.put(AT, WITH(version), admin, always, undefined, progress);
      put.catch(() => {});
      const finish = await waits.promise;
      assert.equal(progress.isBuilding, true);
      return { put, finish, answer: () => (progress.isAnswered = true) };
    },
    code: async () => {
      const task = await here.find(AT.container, AT.name);
      return task && (await here.codeOf(task, "x")).code;
    },
    remove: (node) => node.remove(AT, admin, always),
  };
}

test("a build that ends after its answer undoes no later change", async (t) => {
  const { here, change, begin, code } = await nodes(t);
  await change(here, { code: "0" });
  const build = await begin(here, 1);
  build.answer();
  await change(here, { code: "2" });
  build.finish();
  const problem = await problemOf(() => build.put);
  assert.match(`${problem.code} ${problem.message}`, /^precondition_failed the task was changed or deleted while/);
  assert.equal(await code(), "2");
});

test("a build that ends after its answer does not bring a deleted task back, also if the task did not exist yet", async (t) => {
  const { here, change, begin, code, remove } = await nodes(t);
  const first = await begin(here, 1);
  first.answer();
  assert.equal((await problemOf(() => remove(here))).code, "not_found");
  first.finish();
  assert.equal((await problemOf(() => first.put)).code, "precondition_failed");
  assert.equal(await code(), null);

  const second = await begin(here, 2);
  second.answer();
  await change(here, { code: "3" });
  await remove(here);
  second.finish();
  assert.equal((await problemOf(() => second.put)).code, "precondition_failed");
  assert.equal(await code(), null);
});

for (const isInOrder of [true, false]) {
  test(`the later of two builds wins if it ends ${isInOrder ? "last" : "first"}`, async (t) => {
    const { here, begin, code } = await nodes(t);
    const [older, newer] = [await begin(here, 1), await begin(here, 2)];
    for (const build of [older, newer]) build.answer();
    for (const build of isInOrder ? [older, newer] : [newer, older]) {
      build.finish();
      await build.put.catch(() => {});
    }
    assert.equal(await code(), WITH(2).code);
  });
}

test("a build that ends after its answer undoes no change of another node", async (t) => {
  const { here, there, change, begin, code } = await nodes(t);
  await change(here, { code: "0" });
  const build = await begin(here, 1);
  build.answer();
  await change(there, { code: "2" });
  build.finish();
  assert.equal((await problemOf(() => build.put)).code, "precondition_failed");
  assert.equal(await code(), "2");
});

test("a change whose client still waits is tried again when another change came first", async (t) => {
  const { here, change, begin, code } = await nodes(t);
  await change(here, { code: "0" });
  const build = await begin(here, 1);
  await change(here, { params: { a: 1 } });
  build.finish();
  const { task } = await build.put;
  assert.deepEqual(task.caller.claims.params, { a: 1 });
  assert.equal(await code(), WITH(1).code);
});
