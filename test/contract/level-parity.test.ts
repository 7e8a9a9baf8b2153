import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { drawn } from "../seeded.ts";
import { type Answer, type RequestOptions, respond } from "./http.ts";
import { type Home, leave, makeHome, type Service, startService } from "./service.ts";
import { until } from "./until.ts";
import { makeUserHome, whyNoUser } from "./user.ts";

const FLAGS = ["--log-level", "debug", "--wall-limit", "30s", "--block-limit", "1s"];
/** Headers that differ for each run, or by how soon its body was complete. */
const VARYING_HEADERS = new Set([
  "caisson-run",
  "content-length",
  "date",
  "ratelimit",
  "server-timing",
  "transfer-encoding",
  "x-accel-buffering",
]);
const MODULES = {
  "./lib.ts":
    "import { half } from './deep/half.js'; export const all: number = half * 2; export { default as kind } from './kind.json'",
  "./deep/half.js": "import '../lib.ts'; export const half = 21;",
  "./kind.json": '{ "kind": "json" }',
};

interface Case {
  readonly code: string;
  /** The status and the text of the answer, and whether its body is complete. */
  readonly gives: readonly [status: number, text: RegExp, complete?: boolean];
  readonly modules?: Readonly<Record<string, string>>;
  /** The length of the text in bytes. */
  readonly bytes?: number;
  readonly timeout?: string;
}

/** Cases that an isolation level could affect: pipes, threads, files, memory, frames, and the end of a process. */
const CASES: Readonly<Record<string, Case>> = {
  "a value": { code: "({ a: [1, 'é', null] })", gives: [200, /^{"a":\[1,"é",null\]}$/] },
  "a result of 5 MiB": { code: "'x'.repeat(5 * 2 ** 20)", gives: [200, /^"xxx/], bytes: 5 * 2 ** 20 + 2 },
  "a result that is too large": { code: "'x'.repeat(7e6)", gives: [500, /"result_too_large"/] },
  bytes: { code: "Buffer.from('héllo')", gives: [200, /^héllo$/] },
  "a Blob": { code: "new Blob(['text'], { type: 'text/x-own' })", gives: [200, /^text$/] },
  "a Response": {
    code: "new Response('made', { status: 201, headers: { 'x-own': 'a', 'set-cookie': 'a=b' } })",
    gives: [201, /^made$/],
  },
  "a Response without a body": { code: "new Response(null, { status: 204 })", gives: [204, /^$/] },
  "a stream of 8 MiB": {
    code: "new Response(new ReadableStream({ pull(c) { this.n = (this.n ?? 0) + 1; if (this.n > 128) c.close(); else c.enqueue(new Uint8Array(65536).fill(120)) } }))",
    gives: [200, /^xxx/],
    bytes: 8 * 2 ** 20,
  },
  "a stream that breaks": {
    code: "async function* main() { yield 'a'; await new Promise((go) => setTimeout(go, 500)); throw new Error('no') }",
    gives: [200, /^a$/, false],
  },
  "a Node handler": {
    code: "(context, req, res) => { res.writeHead(202, { 'x-own': 'a' }); res.write('a'); setImmediate(() => res.end('b')) }",
    gives: [202, /^ab$/],
  },
  "a callback": { code: "(cb) => setTimeout(() => cb(null, 7), 1)", gives: [200, /^7$/] },
  "a callback's error": { code: "(cb) => cb(new RangeError('mine'))", gives: [400, /"RangeError"/] },
  "a fetch handler": {
    code: "export default { fetch(request, env, ctx) { return Response.json([request.method, new URL(request.url).pathname]) } }",
    gives: [200, /^\["POST",".*"\]$/],
  },
  TypeScript: { code: "const n: number = 6; return n * 7", gives: [200, /^42$/] },
  "a graph of modules with TypeScript, JSON and a circle": {
    code: "import { all, kind } from './lib.ts'; export default async () => [all, kind, (await import('./deep/half.js')).half]",
    modules: MODULES,
    gives: [200, /^\[42,{"kind":"json"},21\]$/],
  },
  "a module that is missing": {
    code: "import x from './nope.ts'; export default x",
    modules: MODULES,
    gives: [400, /the request gives .*\.\/lib\.ts/],
  },
  "modules of Node": {
    code: "import os from 'node:os'; import { gzipSync } from 'zlib'; export default () => [os.EOL, gzipSync('a').length, require('path').join('a', 'b')]",
    gives: [200, /^\["\\n",21,"a\/b"\]$/],
  },
  "an error with its causes and properties": {
    code: "const f = () => {\n  throw Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'E' })\n}\nf()",
    gives: [500, /outer.*task\.js:2:\d+.*inner.*"code":"E"/s],
  },
  "several errors": {
    code: "await Promise.any([Promise.reject(new Error('a'))])",
    gives: [500, /AggregateError.*"message":"a"/],
  },
  "an error of another realm": {
    code: "throw require('vm').runInNewContext('new RangeError(1)')",
    gives: [500, /RangeError/],
  },
  "a thrown value that is not an Error": { code: "throw Symbol('s')", gives: [500, /Symbol\(s\)/] },
  "a throw outside of any promise": {
    code: "(cb) => setTimeout(() => { throw new Error('late') }, 1)",
    gives: [500, /"late"/],
  },
  "code that does not parse": { code: "const a = 1;\nconst b = ;", gives: [400, /line 2, column 11/] },
  "a worker thread": {
    code: "new Promise((ok, no) => new (require('worker_threads').Worker)('require(\"worker_threads\").parentPort.postMessage(42)', { eval: true }).on('message', ok).on('error', no))",
    gives: [200, /^42$/],
  },
  "a file of the task": {
    code: "const fs = require('fs'), file = require('os').tmpdir() + '/a'; fs.writeFileSync(file, 'kept'); const text = fs.readFileSync(file, 'utf8'); fs.rmSync(file); return text",
    gives: [200, /^"kept"$/],
  },
  "a file in the home folder, also of a worker": {
    code: `const fs = require("fs"), { homedir, tmpdir } = require("os"), file = homedir() + "/.a";
      fs.writeFileSync(file, "kept"); const text = fs.readFileSync(file, "utf8"); fs.rmSync(file);
      const script = 'require("worker_threads").parentPort.postMessage(require("os").homedir())';
      const other = await new Promise((ok, no) => new (require("worker_threads").Worker)(script, { eval: true }).on("message", ok).on("error", no));
      return [text, homedir() === tmpdir(), other === homedir()]`,
    gives: [200, /^\["kept",true,true\]$/],
  },
  "a process that the task starts": {
    code: "new Promise((ok, no) => require('child_process').spawn('ls').on('error', no))",
    gives: [500, /cannot start processes/],
  },
  "a server that the task starts": {
    code: "new Promise((ok, no) => require('net').createServer().on('error', no).listen(0, ok))",
    gives: [500, /"error"/],
  },
  "a destination that is not allowed": { code: "await fetch('http://127.0.0.1:8080/')", gives: [500, /EGRESS_DENIED/] },
  "the end of its process": { code: "process.exit(3)", gives: [500, /process\.exit\(3\)/] },
  "no answer": {
    code: "new Promise((never) => setTimeout(never, 60_000))",
    gives: [500, /"task_timeout"/],
    timeout: "3s",
  },
  "too much memory": {
    code: "const held = []; for (;;) { held.push(Buffer.alloc(2 ** 23, 1)); await new Promise(setImmediate) }",
    gives: [500, /"task_memory".*--memory-limit/],
  },
};

/** The same cases at each level. */
const SELECTED = drawn("cases of all levels", Object.entries(CASES), 8);

/** Results, streams, errors, modules and later output come from the guest. The isolation level must not change them. */
function testLevel(level: string, started: string, make: () => Promise<Home>, skip: string | false): void {
  describe(`the isolation level ${level}, started ${started}, does not change`, { skip }, () => {
    let home: Home;
    let service: Service;
    before(async () => {
      home = await make();
      service = await startService(["--isolation", level, ...FLAGS], home);
    });
    after(() => leave(service, home));

    for (const [what, { code, modules, gives, bytes, timeout }] of SELECTED) {
      it(what, async () => {
        const options: RequestOptions = {
          ...(modules ? { json: { code, modules } } : { body: code }),
          ...(timeout !== undefined && { query: { timeout } }),
        };
        const answer = await service.request("POST", "/api/run/parity", options);
        const [status, text, complete = true] = gives;
        assert.equal(answer.status, status, answer.text.slice(0, 1_000));
        assert.match(answer.text, text);
        assert.equal(answer.complete, complete);
        if (bytes !== undefined) assert.equal(answer.bytes.length, bytes);
        if (!VARIES.test(what)) remember(what, level, answer);
      });
    }

    it("the console and the work of waitUntil, which belong to their run", async () => {
      const code = `export default { fetch(request, env, ctx) {
        console.warn("now");
        ctx.waitUntil(new Promise((go) => setTimeout(go, 50)).then(() => console.log("later")));
        setTimeout(() => { throw new RangeError("unheard") }, 20);
        return new Response("answered");
      } }`;
      const answer = await service.run("left", code);
      assert.equal(answer.text, "answered");
      for (const text of ['"msg":"now"', '"msg":"later"', "RangeError: unheard"]) {
        const line = await service.logLine((each) => each.includes(text));
        assert.equal((JSON.parse(line) as { run: string }).run, answer.headers["caisson-run"]);
      }
    });

    it("the signal, which aborts when the client leaves in the middle of a stream", async () => {
      const body = `(context) => {
        context.signal.onabort = () => console.log("aborted", context.signal.reason.name);
        return new Response(new ReadableStream({ start(c) { c.enqueue("a") }, cancel() { console.log("cancelled") } }));
      }`;
      const response = await respond(service.port, "POST", "/api/run/leaves", { token: service.admin, body });
      response.destroy();
      await service.logLine((line) => line.includes('"aborted AbortError"'));
      await service.logLine((line) => line.includes('"cancelled"'));
    });

    it("a producer, which waits while its client reads nothing", async () => {
      const body = `globalThis.made = 0;
        return new Response(new ReadableStream({ pull(c) { globalThis.made++; c.enqueue(new Uint8Array(65536)) } }))`;
      const response = await respond(service.port, "POST", "/api/run/slow", { token: service.admin, body });
      const made = async (): Promise<number> => Number((await service.run("slow", "globalThis.made")).text);
      let last = -1;
      await until(async () => {
        const waits = last === (last = await made()) && last > 0;
        return waits;
      }, "the producer waits");
      response.destroy();
    });
  });
}

/** The cases whose text comes from the kernel or the watchdog, and so differs by level. */
const VARIES = /^too much memory$|^a server that/;
const first = new Map<string, { level: string; answer: string }>();

/** Asserts that the answer is the same at each level, including all headers that do not belong to one run. */
function remember(what: string, level: string, { headers, text }: Answer): void {
  const rest = Object.entries(headers).filter(([name]) => !VARYING_HEADERS.has(name));
  const answer = JSON.stringify([rest, text.replaceAll(headers["caisson-run"]!, "run")]);
  const known = first.get(what) ?? { level, answer };
  first.set(what, known);
  assert.equal(answer.slice(0, 4_096), known.answer.slice(0, 4_096), `${what} as on ${known.level}`);
}

testLevel("namespaces", "by the user of the tests", makeHome, false);
testLevel("confined", "by the user of the tests", makeHome, false);
testLevel("confined", "by a user", makeUserHome, whyNoUser());
