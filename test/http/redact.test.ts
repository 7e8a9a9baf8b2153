import assert from "node:assert/strict";
import { test } from "node:test";

import { Problem } from "../../src/errors.ts";
import { Redaction } from "../../src/http/redact.ts";

const SECRET = 'sk_live "1"\n&';

test("a secret is taken out of texts, as it is, as in JSON and as in a URL", () => {
  const redaction = new Redaction([SECRET]);
  for (const spelling of [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET)]) {
    assert.equal(redaction.text(`a ${spelling}${spelling} b`), "a [secret][secret] b");
    assert.equal(redaction.bytes(Buffer.from(`a ${spelling}`)).toString(), "a [secret]");
  }
  assert.equal(redaction.text("nothing of it"), "nothing of it");
});

test("of secrets that are parts of each other nothing is left", () => {
  assert.equal(new Redaction(["abcd", "abcdefgh"]).text("abcdefgh abcd"), "[secret] [secret]");
});

test("of a secret that was cut nothing is left, wherever it was cut", () => {
  const secret = "hunter2-very-secret-key";
  const redaction = new Redaction([secret, "other"]);
  for (let kept = 1; kept < secret.length; kept++) {
    const begun = secret.slice(0, kept);
    assert.equal(redaction.text(`with ${begun}…`), "with [secret]…");
    assert.equal(
      redaction.text(`E: with ${begun}…\n    at f (task.js:1:1)`),
      "E: with [secret]…\n    at f (task.js:1:1)",
    );
    if (kept >= 4) assert.equal(redaction.text(`with ${begun}`), "with [secret]");
  }
  assert.equal(redaction.text("the hun"), "the hun");
  assert.equal(redaction.text(`${secret} and…`), "[secret] and…");
});

test("what is too short to be told from other words stays, and what no URL can hold does no harm", () => {
  assert.equal(new Redaction(["a", "", "1"]).text("banana 1"), "banana 1");
  assert.equal(new Redaction(["\ud800abc"]).text("x\ud800abc"), "x[secret]");
});

test("a problem keeps all but the secrets: in its detail, its hint, and everywhere in the task's error", () => {
  const cause = new Error("of the service");
  const problem = new Problem("task_threw", `it said ${SECRET}`, {
    hint: `not ${SECRET}`,
    status: 418,
    retryAfterMs: 5,
    violations: [{ member: SECRET }],
    error: {
      name: "Error",
      message: SECRET,
      stack: `Error: ${SECRET}\n  at 1`,
      cause: { name: "E", message: SECRET },
      errors: [{ name: "E", message: SECRET }],
      [SECRET]: { deep: [SECRET, 1, null] },
    },
    cause,
  });
  const told = new Redaction([SECRET]).error(problem) as Problem;
  assert.deepEqual([told.code, told.status, told.options.retryAfterMs, told.cause], ["task_threw", 418, 5, cause]);
  assert.equal(told.message, "it said [secret]");
  assert.deepEqual(told.options.error, {
    name: "Error",
    message: "[secret]",
    stack: "Error: [secret]\n  at 1",
    cause: { name: "E", message: "[secret]" },
    errors: [{ name: "E", message: "[secret]" }],
    "[secret]": { deep: ["[secret]", 1, null] },
  });
  assert.doesNotMatch(JSON.stringify(told.options), /sk_live/);
  const defect = new TypeError("x");
  assert.equal(new Redaction([SECRET]).error(defect), defect);
});
