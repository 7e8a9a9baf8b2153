import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { buildSync } from "esbuild";

import { GuestProcess } from "./guest-process.ts";

let guest: GuestProcess;
before(async () => {
  guest = await GuestProcess.start();
});
after(() => guest.close());

/** Runs a text and returns what it printed. */
async function printed(text: string, own: GuestProcess = guest): Promise<string> {
  const run = own.start(own.code(text));
  await run.outcome;
  await own.ping();
  return own.logs
    .filter((each) => each.run === run.id)
    .map((each) => each.text)
    .join("\n");
}

const STACK = "RangeError: x\n    at f (task.js:2:9)\n    at Object.<anonymous> (task.js:4:7)";
const DEFINED = "const f = () => {\n  throw new RangeError('x');\n};\ntry { f() } catch (error) { PRINT }";

describe("a printed error", () => {
  const WAYS = [
    "console.log(error)",
    "console.error(error)",
    "console.warn(error.stack)",
    "console.log('%s', error.stack)",
    "process.stdout.write(error.stack + '\\n')",
    "console.log(require('node:util').inspect(error))",
  ];
  for (const way of WAYS) {
    it(`has the stack of a thrown error: ${way}`, async () => {
      assert.equal(await printed(DEFINED.replace("PRINT", way)), STACK);
    });
  }

  it("has no frame of the guest's program or of Node in its causes and its aggregated errors", async () => {
    const text = await printed(
      "const cause = new TypeError('deep');\n" +
        "console.log(new AggregateError([new Error('one', { cause }), new RangeError('two')], 'all', { cause }))",
    );
    assert.match(text, /AggregateError: all\n {4}at Object\.<anonymous> \(task\.js:2:13\)/);
    assert.match(text, /\[cause\]: TypeError: deep\n {6}at Object\.<anonymous> \(task\.js:1:15\)/);
    assert.doesNotMatch(text, /program\.js|node:|task:/);
  });

  it("has frames of built-in functions that the code calls", async () => {
    const text = await printed("[1].map(() => { console.log(new Error('x')) })");
    assert.match(
      text,
      /^Error: x\n {4}at .*task\.js:1:29\)?\n {4}at Array\.map \(<anonymous>\)\n {4}at .*task\.js:1:5\)?$/,
    );
  });

  it("has no frame of Node's modules", async () => {
    const text = await printed(
      "try { require('node:fs').readFileSync('/nowhere') } catch (error) { console.log(error) }",
    );
    assert.match(text, /^Error: ENOENT.*\n {4}at Object\.<anonymous> \(task\.js:1:26\) \{\n/);
    assert.match(text, /code: 'ENOENT'/);
    assert.doesNotMatch(text, /node:|program\.js/);
    const fetched = await printed("try { await fetch('http://127.0.0.1:1/') } catch (error) { console.log(error) }");
    assert.doesNotMatch(fetched, /node:|program\.js/);
  });

  it("has the code of an error of Node", async () => {
    assert.match(
      await printed("try { new URL('no') } catch (error) { console.log(error.stack) }"),
      /^TypeError: Invalid URL\n/,
    );
    const text = await printed("try { Buffer.alloc('a') } catch (error) { console.log(error.stack) }");
    assert.match(text, /^TypeError \[ERR_INVALID_ARG_TYPE\]: /);
  });

  it("has the positions of a trace", async () => {
    assert.equal(
      await printed("const f = () => {\n  console.trace('here') };\nf()"),
      "Trace: here\n    at f (task.js:2:11)\n    at Object.<anonymous> (task.js:3:1)",
    );
  });

  it("has the positions of the original text of a source map", async () => {
    const contents = "\n\nconst f = (a: string): void => {\n  console.log(new Error(a));\n};\nf('x');\n";
    const stdin = { contents, sourcefile: "src/index.ts", loader: "ts" as const };
    const { outputFiles } = buildSync({ stdin, write: false, sourcemap: "inline", minify: true });
    assert.match(
      await printed(outputFiles[0]!.text),
      /^Error: x\n {4}at .*src\/index\.ts:4:15\)?\n {4}at .*src\/index\.ts:6:/,
    );
  });

  it("has no position in the original text of another code of the guest", async () => {
    await using own = await GuestProcess.start();
    const stdin = { contents: "\n\nnull.x", sourcefile: "src/hidden.ts", loader: "ts" as const };
    const { outputFiles } = buildSync({ stdin, write: false, sourcemap: "inline" });
    const other = own.code(outputFiles[0]!.text);
    assert.match((await own.start(other).outcome).fault!.error!.stack!, /src\/hidden\.ts:3:/);
    const text = await printed(`console.log("E\\n    at f (task:/${other}/task.js:1:6)")`, own);
    assert.equal(text, "E\n    at f (task.js:1:6)");
  });

  it("is also the error of a warning", async () => {
    const text = await printed(
      "process.once('warning', (warning) => console.log(warning.stack));\n" +
        "process.emitWarning('careful');\n" +
        "await new Promise((resolve) => setImmediate(resolve))",
    );
    assert.equal(text, "Warning: careful\n    at Object.<anonymous> (task.js:2:9)");
  });

  it("has no frame of the guest's program if the task formats stacks itself", async () => {
    for (const format of ["(error, sites) => error + sites.map((site) => '\\n    at ' + site).join('')", "undefined"]) {
      await using own = await GuestProcess.start();
      const text = await printed(`Error.prepareStackTrace = ${format}; console.log(new Error('x'))`, own);
      assert.match(text, /^Error: x\n {4}at Object\.<anonymous> \(task\.js:1:/);
      assert.doesNotMatch(text, /program\.js|node:/);
    }
    await using own = await GuestProcess.start();
    const text = await printed(
      "delete Error.prepareStackTrace; console.log(Object.assign(new Error('x'), { a: 1 }))",
      own,
    );
    assert.equal(text, "Error: x\n    at Object.<anonymous> (task.js:1:59) {\n  a: 1\n}");
  });

  it("is formatted by a function that the task sets", async () => {
    await using own = await GuestProcess.start();
    const text =
      "const original = Error.prepareStackTrace;\n" +
      "Error.prepareStackTrace = (error, sites) => `mine ${error.message} ${sites[0].getLineNumber()}`;\n" +
      "console.log(new Error('x').stack);\n" +
      "Error.prepareStackTrace = original;\n" +
      "console.log(new Error('y').stack);\n" +
      "console.log(original(new Error('z'), [{ toString: () => 'made up' }]))";
    assert.equal(
      await printed(text, own),
      "mine x 3\nError: y\n    at Object.<anonymous> (task.js:5:13)\nError: z\n    at made up",
    );
  });

  it("has no frame of the guest's program in another context and in a worker", async () => {
    assert.doesNotMatch(
      await printed("console.log(require('node:vm').runInNewContext('new Error(\"x\").stack'))"),
      /program\.js|node:/,
    );
    const worker =
      "const { Worker } = require('node:worker_threads');\n" +
      'const worker = new Worker(\'require("node:worker_threads").parentPort.postMessage(new Error("x").stack)\', { eval: true });\n' +
      "return await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))";
    const stack = (await guest.value(worker)) as string;
    assert.match(stack, /^Error: x\n {4}at \[worker eval\]:1:\d+$/);
  });

  it("leaves texts without a stack as they are", async () => {
    for (const text of [
      "task:/3/task.js",
      "at node:internal/x:1:2",
      "\n    at f (node:internal/x:1:2)",
      "a\tb\u001b[0m",
    ]) {
      assert.equal(await printed(`process.stdout.write(${JSON.stringify(`${text}\n`)})`), text);
    }
  });
});
