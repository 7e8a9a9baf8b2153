import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { parseFault } from "../../src/containers/guest/parse-messages.ts";
import { OTHER_FRAME_BYTES } from "../../src/wire/bounds.ts";
import { GuestProcess } from "./guest-process.ts";

/** The error of a connection to a server. */
function failed(code: string): string {
  return `const cause = Object.assign(new Error("no trust"), { code: "${code}" });`;
}

describe("an error that a task throws", () => {
  let guest: GuestProcess;
  before(async () => {
    guest = await GuestProcess.start();
  });
  after(() => guest.close());
  const hint = async (text: string): Promise<string | undefined> => (await guest.fault(text)).hint;

  it("has a stack with only the frames of the submitted text", async () => {
    const stacks: [text: string, stack: string][] = [
      ["null.x", "TypeError: Cannot read properties of null (reading 'x')\n    at Object.<anonymous> (task.js:1:6)"],
      [
        "const f = () => {\n  throw new RangeError('deep')\n}\nreturn f()",
        "RangeError: deep\n    at f (task.js:2:9)\n    at Object.<anonymous> (task.js:4:8)",
      ],
      ["await 1; throw new Error('late')", "Error: late\n    at Object.<anonymous> (task.js:1:16)"],
      ["export default function main() {\n  throw new Error('m')\n}", "Error: m\n    at main (task.js:2:9)"],
      ["const x: number = 1;\nthrow new Error('t' + x)", "Error: t1\n    at Object.<anonymous> (task.ts:2:7)"],
    ];
    for (const [text, stack] of stacks) {
      const fault = await guest.fault(text);
      assert.equal(fault.code, "task_threw");
      assert.equal(fault.error?.stack, stack);
    }
  });

  it("keeps its status if the status is an integer in 400..599", async () => {
    assert.equal((await guest.fault("throw Object.assign(new Error('x'), { status: 404 })")).status, 404);
    assert.equal((await guest.fault("throw Object.assign(new Error('x'), { statusCode: 599 })")).status, 599);
    for (const status of ["200", "600", "404.5", "'404'"]) {
      assert.equal((await guest.fault(`throw Object.assign(new Error('x'), { status: ${status} })`)).status, undefined);
    }
  });

  it("may be any value", async () => {
    assert.equal((await guest.fault("throw 5")).error?.message, "5");
    assert.equal((await guest.fault("throw null")).error?.message, "null");
    assert.equal((await guest.fault("throw Symbol('s')")).error?.message, "Symbol(s)");
    assert.equal((await guest.fault("throw { code: 7 }")).error?.message, '{"code":7}');
    const hostile = [
      "throw new Proxy({}, { get() { throw new Error('trap') }, getPrototypeOf() { throw 1 } })",
      "throw Object.create(null)",
      "throw { get message() { throw 1 } }",
      "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
      "Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')",
    ];
    for (const text of hostile) assert.equal((await guest.fault(text)).code, "task_threw", text);
    assert.equal(await guest.value("delete Error.prepareStackTrace"), true);
  });

  it("is described without the members whose getters throw", async () => {
    const text = "const e = new TypeError('x'); Object.defineProperty(e, 'MEMBER', { get() { throw 1 } }); throw e";
    const without = async (member: string) => (await guest.fault(text.replace("MEMBER", member))).error!;
    assert.deepEqual(await without("stack"), { name: "TypeError", message: "x" });
    assert.equal((await without("name")).message, "x");
    assert.equal((await without("message")).name, "TypeError");
  });

  it("has a hint with its cause", async () => {
    assert.equal(await hint("throw new Error('x', { cause: new Error('deep') })"), "The cause: deep");
    assert.equal(await hint("throw new Error('x')"), undefined);
    assert.match((await hint("throw null"))!, /^Throw an Error/);
    assert.match((await hint("throw { get cause() { throw 1 } }"))!, /^Throw an Error/);
    assert.equal((await hint("throw new Error('x', { cause: { message: 'y'.repeat(1e6) } })"))?.length, 1_024 + 11);
  });

  it("of a certificate that no trusted authority has signed has the option ca in its hint", async () => {
    const fetched = (await hint(
      `${failed("SELF_SIGNED_CERT_IN_CHAIN")} throw new TypeError("fetch failed", { cause })`,
    ))!;
    assert.match(fetched, /^The cause: no trust\. A task trusts the authorities that come with Node, .* \{ ca: pem \}/);
    const plain = (await hint(`${failed("UNABLE_TO_VERIFY_LEAF_SIGNATURE")} throw cause`))!;
    assert.match(plain, /^A task trusts the authorities that come with Node/);
    const expired = await hint(`${failed("CERT_HAS_EXPIRED")} throw new TypeError("fetch failed", { cause })`);
    assert.equal(expired, "The cause: no trust");
  });

  it("has its chain of causes, up to the first error that repeats", async () => {
    const { error } = await guest.fault("throw new Error('a', { cause: new TypeError('b', { cause: 'c' }) })");
    assert.deepEqual(error!.cause, {
      name: "TypeError",
      message: "b",
      stack: "TypeError: b\n    at Object.<anonymous> (task.js:1:31)",
      cause: { name: "Error", message: "c" },
    });
    const cyclic = await guest.fault("const e = new Error('x'); e.cause = new Error('y', { cause: e }); throw e");
    assert.equal(cyclic.error!.cause!.message, "y");
    assert.equal(cyclic.error!.cause!.cause, undefined);
    const chain = "let e = new Error('0'); for (let i = 1; i < 1e4; i++) e = new Error(`${i}`, { cause: e }); throw e";
    let depth = 0;
    for (let { error: each } = await guest.fault(chain); each; each = each.cause) depth += 1;
    assert.equal(depth, 9);
  });

  it("has its aggregated errors", async () => {
    const fault = await guest.fault("throw new AggregateError([new RangeError('a'), 'b'], 'both')");
    assert.deepEqual(
      fault.error!.errors!.map(({ name, message }) => [name, message]),
      [
        ["RangeError", "a"],
        ["Error", "b"],
      ],
    );
    assert.equal(fault.hint, "The first of its causes: a");
    assert.equal((await guest.fault("throw new AggregateError(Array(1e5).fill(1))")).error!.errors!.length, 16);
    const own = await guest.fault(
      "const e = new AggregateError([new Error('x')]); e.errors.push(e, e.errors[0]); throw e",
    );
    assert.deepEqual(
      own.error!.errors!.map(({ message }) => message),
      ["x"],
    );
  });

  it("has its own properties that have a JSON form", async () => {
    const own =
      "{ code: 'E', details: { a: [1, null] }, at: new Date(0), f() {}, big: 1n, s: Symbol('s'), u: undefined }";
    const { error } = await guest.fault(`throw Object.assign(new Error('x'), ${own})`);
    const { name, message, stack, ...rest } = error!;
    assert.equal(`${name}: ${message}`, "Error: x");
    assert.ok(stack);
    assert.deepEqual(rest, { code: "E", details: { a: [1, null] }, at: "1970-01-01T00:00:00.000Z" });
  });

  it("does not have the properties with host paths that Node's loader adds", async () => {
    const { error } = await guest.fault('await import("file:///nowhere/x.js")');
    assert.deepEqual(Object.keys(error!), ["name", "message", "stack", "code"]);
    const required = await guest.fault('require("node:module").createRequire("/nowhere/x.js")("/nowhere/y.js")');
    assert.deepEqual(Object.keys(required.error!), ["name", "message", "stack", "code"]);
    const own = await guest.fault('throw Object.assign(new Error("x"), { url: "https://a.example/" })');
    assert.equal(own.error!.url, "https://a.example/");
  });

  it("does not have properties that throw, are too large, or hold the credentials of an HTTP client", async () => {
    for (const own of [
      "{ get a() { throw 1 } }",
      "{ a: { toJSON() { throw 1 } } }",
      "{ a: 'x'.repeat(5000) }",
      `{ a: ${"[".repeat(9)}${"]".repeat(9)} }`,
      "{ config: { headers: { authorization: 'a' } }, request: 1, response: 2 }",
      'JSON.parse(\'{ "__proto__": { "a": 1 } }\')',
    ]) {
      const { error } = await guest.fault(
        `const e = new Error('x'); Object.defineProperties(e, Object.getOwnPropertyDescriptors(${own})); throw e`,
      );
      assert.deepEqual(Object.keys(error!), ["name", "message", "stack"], own);
    }
    const many = await guest.fault(
      "throw Object.assign(new Error('x'), Object.fromEntries(Object.entries('x'.repeat(1e5))))",
    );
    assert.ok(Object.keys(many.error!).length < 40);
  });

  it("is encoded without calling code of the task", async () => {
    const text = "throw Object.assign(new Error('x'), { a: { toJSON: () => ({ b: 1, toJSON: 'text' }) } })";
    assert.deepEqual((await guest.fault(text)).error!["a"], { b: 1, toJSON: "text" });
  });

  it("is cut to 8 KiB of message and 32 KiB of stack", async () => {
    const { error } = await guest.fault("throw new Error('x'.repeat(1e6))");
    assert.equal(error?.message.length, 8192);
    assert.ok(error.stack!.length <= 32_768);
  });

  it("never exceeds the frame limit of the service", async () => {
    const long = "x".repeat(100_000);
    for (const [text, code] of [
      ["throw new Error('\\0'.repeat(1e6))", "task_threw"],
      ["(cb) => cb(Object.assign(new Error('\\0'.repeat(1e6)), { name: '\\0'.repeat(1e6) }))", "task_error"],
      [`let ${long} = 1; let ${long} = 2`, "code_syntax"],
      [`import ${long} from "./${long}.js"; export default 1`, "module_missing"],
      [`class ${long} {}; const a = new ${long}(); a.a = a; return a`, "result_unserializable"],
      ["require('x'.repeat(1e6))", "module_missing"],
    ] as const) {
      const fault = await guest.fault(text);
      assert.equal(fault.code, code, text.slice(0, 80));
      const payload = Buffer.from(JSON.stringify(fault));
      assert.ok(payload.length <= OTHER_FRAME_BYTES, `${payload.length}: ${text.slice(0, 80)}`);
      assert.equal(parseFault(payload).problem.code, code);
    }
    await using exits = await GuestProcess.start();
    const fault = await exits.fault("process.kill(process.pid, 'x'.repeat(1e6))");
    assert.ok(fault.detail.length < 10_000);
  });
});
