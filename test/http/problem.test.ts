import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ProblemCode, PROBLEMS } from "../../src/error-codes.ts";
import { Problem } from "../../src/errors.ts";
import { asProblem, problemAnswer } from "../../src/http/problem.ts";

function documentOf(error: unknown, run?: string): Record<string, unknown> {
  return JSON.parse(problemAnswer(error, run).body) as Record<string, unknown>;
}

function headerOf(error: unknown, name: string): string | undefined {
  const { headers } = problemAnswer(error);
  const at = headers.indexOf(name);
  return at < 0 ? undefined : headers[at + 1];
}

function challenge(code: ProblemCode): string | undefined {
  return headerOf(new Problem(code, "no"), "WWW-Authenticate");
}

describe("a problem document", () => {
  it("contains status, title and fault of its code, for every code", () => {
    for (const [code, { status, fault, title }] of Object.entries(PROBLEMS)) {
      const problem = new Problem(code as ProblemCode, "what happened", { hint: "what to do" });
      const expected = { type: `/errors#${code}`, title, status, detail: "what happened", code, hint: "what to do" };
      assert.deepEqual(documentOf(problem), expected);
      assert.equal(problemAnswer(problem).status, status);
      assert.equal(headerOf(problem, "Content-Type"), "application/problem+json");
      assert.equal(headerOf(problem, "Caisson-Fault"), fault);
    }
  });

  it("has the help of its code as its hint, if the text of the error has no help", () => {
    const { hint } = documentOf(new Problem("container_busy", "no"));
    assert.equal(hint, PROBLEMS.container_busy.help);
  });

  it("contains the optional members that are set, and no others", () => {
    const error = { name: "RangeError", message: "no", stack: "at 1:2" };
    const violations = [{ window: "minute" }];
    const problem = new Problem("task_threw", "no", { hint: "do", violations, error, cause: new Error("inside") });
    const { hint, run, ...rest } = documentOf(problem, "run-1");
    assert.deepEqual([hint, run, rest["violations"], rest["error"]], ["do", "run-1", violations, error]);
    assert.ok(!("retryAfter" in rest) && !("retryAfterMs" in rest) && !("cause" in rest));
  });

  it("does not contain the position of an error, whose frame is code that the caller may not read", () => {
    const at = { file: "task.js", line: 3, column: 15, frame: "> 3 | const key = 'value'" };
    assert.doesNotMatch(problemAnswer(new Problem("task_threw", "no", { at })).body, /"at"|task\.js|value/);
  });

  it("has the status that a task chose in the answer and in the document, and stays the task's fault", () => {
    const problem = new Problem("task_threw", "no", { status: 418 });
    assert.equal(problemAnswer(problem).status, 418);
    assert.equal(documentOf(problem)["status"], 418);
    assert.equal(headerOf(problem, "Caisson-Fault"), "task");
  });

  it("rounds a wait up to whole seconds, at least one, and keeps it exact in milliseconds", () => {
    for (const [ms, seconds] of [
      [0, 1],
      [1, 1],
      [1_000, 1],
      [1_001, 2],
      [59_999.5, 60],
    ] as const) {
      const problem = new Problem("container_limited", "wait", { retryAfterMs: ms });
      assert.equal(headerOf(problem, "Retry-After"), String(seconds));
      assert.equal(documentOf(problem)["retryAfter"], seconds);
      assert.equal(documentOf(problem)["retryAfterMs"], ms);
    }
  });

  it("challenges at every 403 as in RFC 6750, without an error code if the request had no token", () => {
    assert.equal(challenge("token_missing"), 'Bearer realm="caisson"');
    assert.equal(challenge("token_invalid"), 'Bearer realm="caisson", error="invalid_token"');
    assert.equal(challenge("token_forbidden"), 'Bearer realm="caisson", error="insufficient_scope"');
    const codes = Object.keys(PROBLEMS) as ProblemCode[];
    assert.deepEqual(
      codes.filter((code) => challenge(code) !== undefined),
      codes.filter((code) => PROBLEMS[code].status === 403),
    );
  });

  it("sends the headers that belong to the problem", () => {
    assert.equal(headerOf(new Problem("method_not_allowed", "no", { headers: { Allow: "GET" } }), "Allow"), "GET");
  });
});

describe("an error that is not a Problem", () => {
  it("is answered as a fault of the service, without any details", () => {
    for (const error of [new TypeError("/secret/path of db.internal"), "/secret/path", null, undefined]) {
      const { status, body } = problemAnswer(error, "run-1");
      assert.equal(status, 500);
      assert.doesNotMatch(body, /secret|internal(?!_error)|TypeError|stack/);
      assert.equal(documentOf(error)["code"], "internal_error");
      assert.equal(headerOf(error, "Caisson-Fault"), "service");
    }
  });

  it("is the cause of the problem, for the log", () => {
    const error = new TypeError("inside");
    assert.equal(asProblem(error).cause, error);
    const problem = new Problem("not_found", "no");
    assert.equal(asProblem(problem), problem);
  });
});
