import assert from "node:assert/strict";
import { test } from "node:test";

import { type ProblemCode, PROBLEMS } from "../../../src/error-codes.ts";
import { Problem } from "../../../src/errors.ts";
import { problemAnswer } from "../../../src/http/problem.ts";
import { type FailedRun, hideFault } from "../../../src/http/run/hide-fault.ts";
import { callerOf, testTokens } from "../../tokens/support.ts";

const HIDDEN: FailedRun = { bearer: null, task: { errors: "hidden" }, answer: { isCounted: true } };
const DETAIL = "the task failed; its owner can read the record of this run";

function failure(code: ProblemCode, status?: number): Problem {
  const error = { name: "Error", message: "inner", stack: "at task.js:1:1" };
  const more = { hint: "inner", error, violations: [{ inner: 1 }], cause: new Error("inner") };
  return new Problem(code, "inner\n1 + ;\n    ^", { ...more, ...(status !== undefined && { status }) });
}

function faultOf(run: FailedRun): string {
  return (hideFault(failure("task_url_not_code"), run) as Problem).fault;
}

/** Returns the codes whose problems a client receives without their detail. */
function hiddenCodes(run: FailedRun): ProblemCode[] {
  return (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => {
    const error = failure(code);
    return !(hideFault(error, run) as Problem).message.startsWith("inner");
  });
}

test("a client without a token receives the code and the status of a task's failure, and nothing of its text", () => {
  for (const problem of [failure("task_threw"), failure("task_error", 404), failure("code_syntax")]) {
    const { status, body, headers } = problemAnswer(hideFault(problem, HIDDEN), "e506c653c0d4-2");
    assert.equal(status, problem.status);
    assert.doesNotMatch(body, /inner|\^|task\.js/);
    const { title, ...document } = JSON.parse(body) as Record<string, unknown>;
    assert.equal(title, PROBLEMS[problem.code].title);
    const { code } = problem;
    assert.deepEqual(document, { type: `/errors#${code}`, status, detail: DETAIL, code, run: "e506c653c0d4-2" });
    assert.deepEqual(headers.slice(-2), ["Caisson-Fault", "task"]);
  }
});

test("only failures of the task are hidden, not those of the request, the limits and the service", () => {
  const ofTheTask = [
    "task_error",
    "task_threw",
    "task_timeout",
    "task_blocked",
    "task_stalled",
    "task_memory",
    "task_exited",
  ];
  const ofTheResult = ["result_unserializable", "result_too_large"];
  const ofTheCode = ["code_syntax", "code_shape", "module_missing", "code_pinned"];
  const ofTheUrl = ["invalid", "forbidden", "unreachable", "status", "too_large", "not_code"].map(
    (end) => `task_url_${end}`,
  );
  const hidden = [...ofTheTask, ...ofTheResult];
  assert.deepEqual(hiddenCodes(HIDDEN).toSorted(), [...hidden, ...ofTheCode, ...ofTheUrl].toSorted());
  // Before the admission the service has looked only at the request.
  assert.deepEqual(hiddenCodes({ ...HIDDEN, answer: { isCounted: false } }).toSorted(), hidden.toSorted());
});

test("a bug of the service stays what it is", () => {
  const bug = new TypeError("x is undefined");
  assert.equal(hideFault(bug, HIDDEN), bug);
});

test("failures are shown if the task shows its errors, if the client has a token, and if no task is named", async (t) => {
  const { issue } = await testTokens(t);
  const { claims } = await issue({ containers: ["acme"] }, "me");
  assert.deepEqual(hiddenCodes({ ...HIDDEN, task: { errors: "shown" } }), []);
  assert.deepEqual(hiddenCodes({ ...HIDDEN, bearer: callerOf(claims) }), []);
  assert.deepEqual(hiddenCodes({ ...HIDDEN, task: null }), []);
});

test("code of a task that does not run is a fault of the task for every client, and of the caller if the caller sent it", () => {
  const shown: FailedRun = { ...HIDDEN, task: { errors: "shown" } };
  assert.deepEqual([faultOf(HIDDEN), faultOf(shown), faultOf({ ...HIDDEN, task: null })], ["task", "task", "caller"]);
  assert.equal(faultOf({ ...shown, answer: { isCounted: false } }), "caller");
});
