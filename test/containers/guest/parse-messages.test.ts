import assert from "node:assert/strict";
import { describe, it } from "node:test";

import * as fc from "fast-check";

import { parseFault, parseHead } from "../../../src/containers/guest/parse-messages.ts";
import { PROBLEMS } from "../../../src/error-codes.ts";

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function deep(open: string, close: string): Buffer {
  const error = `{"name":"E","message":"m",${open.repeat(5_000)}"a":1${close.repeat(5_000)}}`;
  return Buffer.from(`{"code":"task_threw","detail":"no","error":${error}}`);
}

describe("a fault of a guest", () => {
  const fault = { code: "task_threw", detail: "no" };

  it("has a code, a detail, a hint, an error, and the status that the task requested", () => {
    const error = { name: "E", message: "m", stack: "s" };
    const { problem, retire } = parseFault(json({ ...fault, hint: "h", status: 404, error }));
    assert.deepEqual([problem.code, problem.message, problem.status, retire], ["task_threw", "no", 404, false]);
    assert.deepEqual(problem.options, { hint: "h", status: 404, error });
  });

  it("has the causes of an error, its aggregated errors, and its other properties", () => {
    const inner = { name: "I", message: "i" };
    const error = { name: "E", message: "m", cause: inner, errors: [inner], code: "own", details: { a: [1] } };
    assert.deepEqual(parseFault(json({ ...fault, error })).problem.options.error, error);
    for (const bad of [
      { cause: {} },
      { cause: 1 },
      { errors: inner },
      { errors: [1] },
      { cause: { ...inner, stack: 1 } },
    ]) {
      assert.throws(() => parseFault(json({ ...fault, error: { ...error, ...bad } })), TypeError);
    }
  });

  it("has the position of its error", () => {
    const at = { file: "task.js", line: 3, column: 15, frame: "> 3 | null.x\n    |      ^" };
    assert.deepEqual(parseFault(json({ ...fault, at: { ...at, more: 1 } })).problem.options, { at });
    assert.deepEqual(parseFault(json({ ...fault, at: { ...at, frame: null } })).problem.options.at?.frame, null);
    const longest = { file: "x".repeat(255), line: 2 ** 53 - 1, column: 1, frame: "x".repeat(4_096) };
    assert.deepEqual(parseFault(json({ ...fault, at: longest })).problem.options.at, longest);
  });

  it("is refused if its position is not text and numbers within bounds", () => {
    const at = { file: "task.js", line: 3, column: 15, frame: null };
    const wrong = [
      null,
      1,
      "task.js:3:15",
      [],
      {},
      ...[undefined, null, 1, {}, ["task.js"], "x".repeat(256), "a\nb", "\u001b[2J", "\u0085"].map((file) => ({
        ...at,
        file,
      })),
      ...[undefined, null, 0, -1, 1.5, 2 ** 53, "3", [3], true].flatMap((number) => [
        { ...at, line: number },
        { ...at, column: number },
      ]),
      ...[undefined, 1, {}, ["x"], "x".repeat(4_097), "a\rb", "\u001b[2J", "\0"].map((frame) => ({ ...at, frame })),
    ];
    for (const each of wrong) {
      assert.throws(() => parseFault(json({ ...fault, at: each })), TypeError, JSON.stringify(each)?.slice(0, 80));
    }
  });

  it("is refused if it nests too deep to be serialized", () => {
    assert.throws(() => parseFault(deep('"cause":{"name":"E","message":"m",', "}")), TypeError);
    assert.throws(() => parseFault(deep('"own":{', "}")), TypeError);
    assert.throws(() => parseFault(deep('"errors":[{"name":"E","message":"m",', "}]")), TypeError);
  });

  it("can request the replacement of the guest, only with the value true", () => {
    assert.equal(parseFault(json({ ...fault, retire: true })).retire, true);
    for (const retire of [1, "true", {}, false]) assert.equal(parseFault(json({ ...fault, retire })).retire, false);
  });

  it("may have only codes that a guest can detect, and no code of the service, of a limit or of a token", () => {
    const claimable = Object.keys(PROBLEMS).filter((code) => {
      try {
        return parseFault(json({ ...fault, code })).problem.code === code;
      } catch {
        return false;
      }
    });
    assert.deepEqual(claimable.toSorted(), [
      "code_shape",
      "code_syntax",
      "module_missing",
      // A guest detects this when a task reads the body.
      "request_invalid",
      "result_too_large",
      "result_unserializable",
      "task_error",
      "task_exited",
      "task_threw",
    ]);
  });

  it("gets the default status of its code if it requests a status that is no error or belongs to the service", () => {
    for (const status of [401, 403, 407, 429, 503, 200, 399, 600, 404.5, "404", null]) {
      assert.equal(parseFault(json({ ...fault, status })).problem.status, 500, `${status}`);
    }
    assert.equal(parseFault(json({ ...fault, code: "task_error", status: 403 })).problem.status, 400);
    for (const status of [400, 402, 428, 500, 502, 599]) {
      assert.equal(parseFault(json({ ...fault, status })).problem.status, status);
    }
  });

  it("is refused as a whole if a part of it is not text or is too long", () => {
    const long = "x".repeat(65_537);
    const wrong = [
      null,
      "text",
      1,
      [],
      {},
      { ...fault, code: "toString" },
      { ...fault, code: ["task_threw"] },
      { code: "task_threw" },
      { ...fault, detail: 1 },
      { ...fault, detail: long },
      { ...fault, hint: null },
      { ...fault, error: null },
      { ...fault, error: { name: "E" } },
      { ...fault, error: { name: "E", message: {} } },
      { ...fault, error: { name: "E", message: "m", stack: long } },
    ];
    for (const message of wrong) {
      assert.throws(() => parseFault(json(message)), TypeError, JSON.stringify(message)?.slice(0, 80));
    }
    assert.throws(() => parseFault(Buffer.from("{")), SyntaxError);
  });

  it("drops unknown members", () => {
    const { problem } = parseFault(json({ ...fault, headers: { Allow: "x" }, retryAfterMs: 1, cause: "c" }));
    assert.deepEqual(problem.options, {});
    assert.equal(problem.cause, undefined);
  });
});

describe("a head of a guest", () => {
  it("is a status and pairs of headers", () => {
    const head = { status: 201, headers: ["X-A", "b c\t\u{ff}", "x-empty", ""] };
    assert.deepEqual(parseHead(json({ ...head, more: 1 })), head);
  });

  it("has the status of a response that ends a request", () => {
    for (const status of [200, 204, 304, 599]) assert.equal(parseHead(json({ status, headers: [] })).status, status);
    for (const status of [100, 101, 199, 600, 1_000, 200.5, "200", null, undefined]) {
      assert.throws(() => parseHead(json({ status, headers: [] })), TypeError, `${status}`);
    }
  });

  it("has headers in pairs of text, up to a maximum number", () => {
    const most = Array.from({ length: 400 }, () => "x");
    assert.equal(parseHead(json({ status: 200, headers: most })).headers.length, 400);
    for (const headers of [["x-a"], [...most, "x", "x"], { length: 0 }, "xx", null, ["x-a", 1], [["x-a", "1"], []]]) {
      assert.throws(() => parseHead(json({ status: 200, headers })), TypeError);
    }
  });

  it("has no header that Node would refuse to send, or that contains a line break", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3, unit: "binary" }), (name, value) => {
        const fits = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t -~\u{80}-\u{ff}]*$/u.test(value);
        const read = (): unknown => parseHead(json({ status: 200, headers: [name, value] }));
        if (fits) assert.deepEqual(read(), { status: 200, headers: [name, value] });
        else assert.throws(read, TypeError);
      }),
      {
        examples: [
          ["x", "a\r\nb"],
          ["x\n", "a"],
          ["", "a"],
          ["x", "\0"],
          ["x", "a\n"],
          ["x", "ā"],
        ],
      },
    );
  });
});
