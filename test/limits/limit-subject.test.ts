import assert from "node:assert/strict";
import { test } from "node:test";

import { LimitSubject } from "../../src/limits/limit-subject.ts";

const DEFAULTS = { container: { day: 50 }, token: { hour: 3 } };

test("a subject caches its charges for the limits of one server, and computes them again for other limits", () => {
  const subject = new LimitSubject("a", { token: { hour: 2 } }, [{ jti: "b", limits: undefined }]);
  const charges = subject.tokenCharges(DEFAULTS);
  assert.equal(subject.tokenCharges(DEFAULTS), charges);
  assert.deepEqual(
    charges.map(({ key, limits }) => [key, limits[2]]),
    [
      ["t:a", 2],
      ["t:b", 3],
    ],
  );
  const strict = { container: {}, token: { hour: 1 } };
  assert.deepEqual(
    subject.tokenCharges(strict).map(({ limits }) => limits[2]),
    [1, 1],
  );
});

test("the runs of a task for one token share one subject, with each token once and the lower limits", () => {
  const keeper = { jti: "keeper", limits: { day: 9 } };
  const task = new LimitSubject("task", { container: { minute: 5, day: 7 } }, [keeper]);
  const asking = new LimitSubject("asking", { container: { minute: 2 }, token: { day: 1 } }, [keeper]);
  const both = asking.ofTask(task);
  assert.equal(asking.ofTask(task), both);
  assert.deepEqual([both.jti, both.limits.container], ["task", { minute: 2, day: 7 }]);
  // The root of the family is last, because what a family shares counts there.
  assert.deepEqual(both.ancestors, [{ jti: "asking", limits: { day: 1 } }, keeper]);
  const own = new LimitSubject("keeper", { token: { day: 9 } });
  assert.deepEqual(own.ofTask(task).ancestors, [keeper]);
  assert.deepEqual([both.foreign, own.ofTask(task).foreign], [0, 0]);
});

test("the tokens of a task's owner are marked in the runs of a caller of another family, whose root is last", () => {
  const owner = { jti: "owner", limits: {} };
  const task = new LimitSubject("task", {}, [{ jti: "publisher", limits: {} }, owner]);
  const asking = new LimitSubject("asking", {}, [{ jti: "customer", limits: {} }]);
  const both = asking.ofTask(task);
  assert.deepEqual(
    both.ancestors.map(({ jti }) => jti),
    ["publisher", "owner", "asking", "customer"],
  );
  assert.equal(both.foreign, 3);
  assert.equal(asking.ofTask(new LimitSubject("task of an administrator", {})).foreign, 0);
});

test("a token that runs many tasks caches the subjects of the last 16", () => {
  const asking = new LimitSubject("asking", {});
  const tasks = Array.from({ length: 17 }, (_, at) => new LimitSubject(`task ${at}`, {}));
  const [first, second] = [asking.ofTask(tasks[0]!), asking.ofTask(tasks[1]!)];
  for (const task of tasks) asking.ofTask(task);
  assert.equal(asking.ofTask(tasks[1]!), second);
  const again = asking.ofTask(tasks[0]!);
  assert.notEqual(again, first);
  assert.deepEqual(again.tokenCharges(DEFAULTS), first.tokenCharges(DEFAULTS));
});
