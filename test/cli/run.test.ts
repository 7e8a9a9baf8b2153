import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { closedAddress, serveCode } from "../contract/code-server.ts";
import { type Service, shareService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

const ESBUILD = path.join(import.meta.dirname, "../../node_modules/.bin/esbuild");
/** A PATH with a shell and without esbuild. */
const BARE_PATH = "/usr/bin:/bin";

let service: Service;
let folder: string;

before(async () => {
  service = await shareService();
  folder = await mkdtemp(path.join(tmpdir(), "caisson-run-"));
});
after(async () => {
  for (const child of running) child.kill("SIGKILL");
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Writes a file into the folder of this test. @returns its path. */
async function write(name: string, content: string): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}, input?: string): Promise<Ended> {
  return hostedCommand(wordsOf(args), { PATH: BARE_PATH, ...settings }, input);
}

/** Runs the same command in a separate process. */
function runAlone(args: readonly string[], input?: string): Promise<Ended> {
  return command(wordsOf(args), { PATH: BARE_PATH }, undefined, input);
}

function wordsOf(args: readonly string[]): string[] {
  const address = ["--port", String(service.port), "--data", service.data];
  const at = args.indexOf("--");
  const all = at === -1 ? [...args, ...address] : [...args.slice(0, at), ...address, ...args.slice(at)];
  return ["run", ...all];
}

interface Running {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Ends the command. @returns the signal that ended it, or its exit code. */
  readonly end: (signal: NodeJS.Signals) => Promise<unknown>;
}

/** The commands that a failed test leaves behind. */
const running = new Set<ChildProcess>();

/** Starts a run that a test ends. */
function start(args: readonly string[]): Running {
  const words = ["dist/main.js", "run", ...args, "--port", String(service.port), "--data", service.data];
  const child = spawn("scripts/node", words, { cwd: path.join(import.meta.dirname, "../..") });
  running.add(child);
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const exited = once(child, "exit");
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    end: async (signal) => {
      child.kill(signal);
      const [code, by] = (await exited) as [number | null, string | null];
      return by ?? code;
    },
  };
}

async function runText(text: string, ...args: readonly string[]): Promise<Ended> {
  return run([await write("task.js", text), ...args]);
}

describe("caisson run", () => {
  it("prints the result of the code in a file", async () => {
    const file = await write("task.js", "6 * 7");
    assert.deepEqual(await runAlone([file]), { code: 0, stdout: "42\n", stderr: "" });
    const typed = await write("typed.ts", "export default (): { answer: number } => ({ answer: 42 });");
    assert.deepEqual(await run([typed]), { code: 0, stdout: '{"answer":42}\n', stderr: "" });
  });

  it("reads code from stdin", async () => {
    assert.deepEqual(await runAlone(["-"], "6 * 7"), { code: 0, stdout: "42\n", stderr: "" });
  });

  it("passes the unchanged input and the query to the code, in the container of the flag", async () => {
    const text = "(c) => [c.container, c.query, c.body]";
    const args = ["--container", "other", "--query", "a=1", "--query", "b=x=y&z", "--input", '{"n": 1.50}'];
    const { code, stdout } = await runText(text, ...args);
    assert.deepEqual([code, JSON.parse(stdout)], [0, ["other", { a: "1", b: "x=y&z" }, { n: 1.5 }]]);
  });

  it("prints the lines of the console to stderr as they come, without characters that act on a terminal", async () => {
    const text = "console.log('one\\ntwo', '\\u001b[2J');\nawait new Promise(() => {})";
    const child = start([await write("task.js", text), "--timeout", "20s"]);
    await until(() => child.stderr().endsWith("\n"), "the console is printed before the run ends");
    assert.equal(child.stderr(), "one\ntwo \\u001b[2J\n");
    assert.equal(await child.end("SIGINT"), "SIGINT");
    await until(async () => {
      // The record appears when the run has ended, and before it the latest run is another one.
      const answer = await service.request("GET", "/api/runs/demo?limit=1");
      return (answer.json() as { runs: { status: string }[] }).runs[0]!.status === "cancelled";
    }, "the end of the command cancels the run");
  });

  it("ends a run after --timeout, and prints the record with --json", async () => {
    const { code, stdout, stderr } = await runText(
      "await new Promise(() => setInterval(() => {}, 9))",
      "--timeout",
      "100ms",
      "--json",
    );
    assert.equal(code, 1);
    const record = JSON.parse(stdout) as { status: string; error: { code: string } };
    assert.deepEqual([record.status, record.error.code], ["timeout", "task_timeout"]);
    assert.equal(stderr, "");
  });

  it("sends the modules of the file's folder, and names the files of the author in errors", async () => {
    await write("parts/lib/fail.ts", "export function fail(text: string): never {\n  throw new Error(text);\n}\n");
    const file = await write(
      "parts/main.ts",
      'import { fail } from "./lib/fail.ts";\n\nexport default () => fail("deep");\n',
    );
    const { code, stderr } = await run([file]);
    assert.equal(code, 1);
    assert.ok(stderr.includes(`at fail (${path.join(folder, "parts/lib/fail.ts")}:2:9)`), stderr);
    assert.ok(stderr.includes(`${file}:3:22`), stderr);
  });

  it("reads a .ts file as TypeScript before it is read as JavaScript, also with data and a query", async () => {
    // As JavaScript, this compares the function with a variable.
    const text = "const f = (texts) => texts[0];\nconst string = 1;\nexport default (c) => [f<string>`x`, c.body.n];";
    const input = ["--input", '{"n": 7}', "--query", "a=1"];
    const typed = await run([await write("typed.ts", text), ...input]);
    assert.deepEqual(typed, { code: 0, stdout: '["x",7]\n', stderr: "" });
    assert.equal((await run([await write("plain.js", text), ...input])).stdout, "[false,7]\n");
  });

  it("runs again when the file or one of its modules changes, until Ctrl-C", async () => {
    const module = await write("watched/lib.ts", "export const n = 1;");
    const file = await write("watched/main.ts", 'import { n } from "./lib.ts";\nexport default () => n;');
    const child = start([file, "--watch"]);
    await until(() => child.stdout() === "1\n" && child.stderr().includes("watching 2 files"), "the first run");
    await writeFile(module, "export const n = 2;");
    await until(() => child.stdout() === "1\n2\n", "the second run");
    await writeFile(file, "const = 1");
    await until(() => child.stderr().includes("code_syntax"), "a fault does not end the watch");
    await writeFile(file, "3");
    await until(() => child.stdout() === "1\n2\n3\n", "the fourth run");
    assert.equal(await child.end("SIGINT"), "SIGINT");
  });

  it("reads the input from a file or from stdin", async () => {
    const file = await write("task.js", "(c) => c.body.n");
    const input = await write("input.json", '{"n": 12345678901234567890.5e-1}');
    assert.equal((await run([file, "--input", `@${input}`])).stdout, "1234567890123456800\n");
    assert.equal((await runAlone([file, "--input", "@-"], '{"n": 3}')).stdout, "3\n");
    assert.match((await run(["-", "--input", "@-"], {}, "1")).stderr, /cannot both be read from stdin/);
    assert.match((await run([file, "--input", "@absent.json"])).stderr, /there is no file absent\.json in \//);
  });

  it("prints results of any size as they come with --stream", async () => {
    const chunk = 2 ** 20;
    const text = `(async function* () { for (let n = 0; n < 9; n++) yield Buffer.alloc(${chunk}, 'x'); })`;
    const whole = await runAlone([await write("task.js", text), "--stream"]);
    assert.deepEqual([whole.code, whole.stdout.length, whole.stderr], [0, 9 * chunk, ""]);
    const cut = await runText(text);
    assert.deepEqual([cut.code, cut.stdout], [1, ""]);
    assert.match(cut.stderr, /^caisson: result_truncated: .*\ncaisson: add --stream to print results of any size\n$/);
    const file = await write("task.js", "throw new Error('x')");
    const thrown = await run([file, "--stream"]);
    assert.deepEqual([thrown.code, thrown.stdout], [1, ""]);
    assert.ok(thrown.stderr.includes(`${file}:1:`), thrown.stderr);
    const away = await hostedCommand(["run", file, "--stream", "--url", "http://127.0.0.1:9"], {
      CAISSON_TOKEN: "some",
    });
    assert.equal(away.code, 4);
    for (const other of ["--json", "--timeout=1s"]) assert.equal((await run([file, "--stream", other])).code, 2);
  });

  it("prints a Response byte for byte", async () => {
    const { code, stdout } = await runText("() => new Response('no line break', { status: 201 })");
    assert.deepEqual([code, stdout], [0, "no line break"]);
  });

  it("prefers the token of the environment", async () => {
    const token = await service.issue({ containers: ["mine"] });
    const file = await write("task.js", "1");
    assert.equal((await run([file, "--container", "mine"], { CAISSON_TOKEN: token })).code, 0);
    const refused = await run([file, "--container", "theirs"], { CAISSON_TOKEN: token });
    assert.deepEqual([refused.code, refused.stdout], [3, ""]);
    assert.match(refused.stderr, /^caisson: token_forbidden: /);
  });
});

describe("the exit code of caisson run", () => {
  it("is 1 if the code fails, with its error and position", async () => {
    const { code, stdout, stderr } = await runText("const f = () => {\n  throw new RangeError('too far');\n};\nf();");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^caisson: task_threw: .*too far\ncaisson: {5}at f \(\S+\.js:2:9\)$/m);
  });

  it("is 1 if the code answers with a status other than 2xx, and the body is printed", async () => {
    const { code, stdout, stderr } = await runText("() => new Response('absent', { status: 404 })");
    assert.deepEqual([code, stdout, stderr], [1, "absent", "caisson: the answer has the status 404\n"]);
  });

  it("is 1 if an answer ends early", async () => {
    const { code, stderr } = await runText("(function* () { yield 'first'; throw new Error('then'); })", "--stream");
    assert.equal(code, 1);
    assert.match(stderr, /^caisson: the answer ended early/);
  });

  it("is 2 if the code does not parse, and its line is printed", async () => {
    const { code, stderr } = await runText("const = 1");
    assert.equal(code, 2);
    assert.match(stderr, /^caisson: code_syntax: [^]*caisson:.*const = 1\ncaisson:.* \^/m);
  });

  it("is 2 for invalid input, and nothing is sent", async () => {
    const file = await write("task.js", "1");
    for (const [args, message] of [
      [[path.join(folder, "absent.js")], /there is no file .*absent\.js/],
      [[file, "--input", "{"], /--input is not JSON/],
      [[file, "--query", "a"], /--query a is not name=value, such as --query a=6$/m],
      [[file, "--what"], /unknown option/],
      [["-", "--bundle"], /--bundle needs a file/],
      [[file, "--", "--minify"], /--minify is for esbuild/],
      [[], /name a file, such as caisson run task\.ts, or a deployed task with --task/],
      [[file, "--task", "hook"], /name a file/],
      [["--task", "hook", "--query", "a=1"], /--query is for the code of a file/],
    ] as const) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, message);
    }
    const { code, stderr } = await run([file], { CAISSON_PORT: "x" });
    assert.deepEqual([code, stderr], [0, ""], "a flag has precedence over the variable");
  });

  it("is 3 if a limit is used up", async () => {
    const token = await service.issue({ containers: ["*"], limits: { token: { month: 1 } } });
    const file = await write("task.js", "1");
    assert.equal((await run([file], { CAISSON_TOKEN: token })).code, 0);
    const { code, stderr } = await run([file], { CAISSON_TOKEN: token });
    assert.equal(code, 3);
    assert.match(
      stderr,
      /^caisson: token_limited: .*the next fits in .*\ncaisson: The issuer of the token can issue another one/,
    );
  });

  it("is 4 if no service is reached, or another program answers", async () => {
    const file = await write("task.js", "1");
    const port = (await closedAddress()).split(":")[1]!;
    const closed = await hostedCommand(["run", file, "--port", port, "--data", service.data]);
    assert.equal(closed.code, 4);
    assert.match(closed.stderr, /^caisson: unreachable: the service at .* cannot be reached: connect ECONNREFUSED /);
    await using stack = new AsyncDisposableStack();
    const other = stack.adopt(await serveCode((_, response) => response.writeHead(502).end("proxy")), (each) =>
      each.close(),
    );
    const answered = await hostedCommand(["run", file, "--url", other.url], { CAISSON_TOKEN: "some" });
    assert.deepEqual([answered.code, answered.stdout], [4, ""]);
    assert.match(answered.stderr, /^caisson: unexpected_answer: .*status 502/);
  });
});

describe("caisson run --url", () => {
  it("sends the run to the service of the URL, below its path", async () => {
    const token = await service.issue({ containers: ["demo"] });
    const file = await write("task.js", "6 * 7");
    const { code, stdout } = await hostedCommand(["run", file, "--url", service.url], { CAISSON_TOKEN: token });
    assert.deepEqual([code, stdout], [0, "42\n"]);
    await using stack = new AsyncDisposableStack();
    const other = stack.adopt(await serveCode((_, response) => response.end()), (each) => each.close());
    await hostedCommand(["run", file, "--url", `${other.url}/below`], { CAISSON_TOKEN: token });
    assert.equal(other.requests[0]!.url, "/below/api/runs/demo");
    assert.equal(other.requests[0]!.headers.authorization, `Bearer ${token}`);
  });

  it("never sends the administrative token of this machine, and no token unencrypted", async () => {
    await using stack = new AsyncDisposableStack();
    const other = stack.adopt(await serveCode((_, response) => response.end()), (each) => each.close());
    const file = await write("task.js", "1");
    const without = await hostedCommand(["run", file, "--url", other.url], { CAISSON_DATA: service.data });
    assert.equal(without.code, 2);
    assert.match(without.stderr, /there is no token for .*; run caisson login --url .*, or set CAISSON_TOKEN/);
    assert.match((await run([file, "--url", other.url])).stderr, /--url and .*, such as --port, exclude each other/);
    for (const url of ["http://caisson.example", "ftp://127.0.0.1", "caisson.example"]) {
      assert.equal((await hostedCommand(["run", file, "--url", url], { CAISSON_TOKEN: "some" })).code, 2, url);
    }
    assert.deepEqual(other.requests, []);
  });
});

/** Writes a project with esbuild, a package, and code that the service rejects without a bundle. */
async function writeProject(): Promise<string> {
  await write("project/node_modules/greeting/index.js", "module.exports = (name) => `Hello, ${name}`;");
  await mkdir(path.join(folder, "project/node_modules/.bin"), { recursive: true });
  const link = path.join(folder, "project/node_modules/.bin/esbuild");
  await rm(link, { force: true });
  await symlink(ESBUILD, link);
  await write("project/src/names.ts", 'export enum Name { Ada = "Ada" }');
  return write(
    "project/src/task.ts",
    'import greeting from "greeting";\nimport { Name } from "./names";\nexport default () => greeting(Name.Ada);\n',
  );
}

describe("caisson run --bundle", () => {
  it("bundles the code with its imports, by the esbuild of its project", async () => {
    const file = await writeProject();
    const plain = await run([file]);
    assert.equal(plain.code, 2);
    assert.match(plain.stderr, /there is no module "greeting"[^]*caisson run --bundle/);
    const { code, stdout, stderr } = await run([file, "--bundle"]);
    assert.deepEqual([code, stdout, stderr], [0, '"Hello, Ada"\n', ""]);
  });

  it("passes flags to esbuild, and the input to the bundle", async () => {
    const file = await write("flagged.ts", "enum E { A }\nexport default (c: any) => [NAMED, c.body, E.A];");
    const args = [file, "--esbuild", ESBUILD, "--input", "7", "--", '--define:NAMED="named"', "--minify"];
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout, stderr], [0, '["named",7,0]\n', ""]);
  });

  it("points at the files of the author through the source map, and keeps the names of parameters", async () => {
    await writeProject();
    await write("project/src/deep.ts", "export function deep(value: { n: number } | null) {\n  return value!.n;\n}\n");
    const file = await write(
      "project/src/mapped.ts",
      'import { deep } from "./deep";\n\nexport default () => deep(null);\n',
    );
    const thrown = await run([file, "--bundle"]);
    assert.equal(thrown.code, 1);
    assert.match(thrown.stderr, /at \w+ \(\S*project\/src\/deep\.ts:2:17\)/);
    assert.match(thrown.stderr, /> 2 \| {3}return value!\.n;/);
    const callback = await write(
      "project/src/callback.ts",
      "module.exports = function (callback) { callback(null, 42); };",
    );
    assert.equal((await run([callback, "--bundle"])).stdout, "42\n");
  });

  it("prints the errors of esbuild, and sends nothing", async () => {
    await writeProject();
    const file = await write("project/src/wrong.ts", 'import "./absent.ts";\nexport default 1;');
    const { code, stdout, stderr } = await run([file, "--bundle"]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /Could not resolve "\.\/absent\.ts"[^]*caisson: .*was not bundled: esbuild ended with 1/);
  });

  it("reports how to install a missing esbuild, and an esbuild that cannot be started", async () => {
    const file = await write("alone.ts", "export default 1;");
    const none = await run([file, "--bundle"]);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /no esbuild .*npm install --save-dev esbuild.*--esbuild/);
    const wrong = await run([file, "--esbuild", path.join(folder, "absent")]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /cannot be started/);
  });
});
