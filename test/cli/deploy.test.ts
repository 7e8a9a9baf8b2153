import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { type Caisson, CaissonError } from "../../client/src/index.ts";
import { check } from "../../src/cli/deploy/check.ts";
import type { Step } from "../../src/cli/deploy/plan.ts";
import { type Service, shareService } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

const ROOT = path.join(import.meta.dirname, "../..");

let service: Service;
let folder: string;
let following: ChildProcess | null = null;

before(async () => {
  service = await shareService();
  folder = await mkdtemp(path.join(tmpdir(), "caisson-deploy-"));
});
after(async () => {
  following?.kill("SIGKILL");
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command in the folder of the project, with the token of an administrator. */
function caisson(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const settings = { CAISSON_URL: service.url, CAISSON_TOKEN: service.admin, ...environment };
  return hostedCommand(words, settings, undefined, folder);
}

/** Runs the same command in a separate process. */
function caissonAlone(words: readonly string[]): Promise<Ended> {
  const settings = { CAISSON_URL: service.url, CAISSON_TOKEN: service.admin };
  return command(words, settings, undefined, undefined, folder);
}

async function write(name: string, content: string): Promise<void> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
}

interface Deployed {
  readonly tasks: readonly { readonly name: string; readonly action: string; readonly version: number | null }[];
}

describe("caisson init", () => {
  it("writes a project that can be deployed at once, and keeps existing files", async () => {
    const { code, stdout, stderr } = await caissonAlone(["init", "fresh", "--container", "first"]);
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /wrote fresh\/caisson\.json, fresh\/tasks\/hello\.ts\n.*next: caisson deploy fresh/);
    await write("fresh/tasks/hello.ts", "export default () => 'mine';");
    assert.match((await caissonAlone(["init", "fresh"])).stderr, /nothing was written\n.*keeps the container first/);
    const spaced = await caissonAlone(["init", "spaced", "--container", "my shop"]);
    assert.equal(spaced.code, 2);
    assert.match(spaced.stderr, /--container "my shop": a name has .*, such as my-shop/);
    await write("taken", "");
    for (const below of ["taken", "taken/below"]) {
      const taken = await caissonAlone(["init", below]);
      assert.equal(taken.code, 2);
      assert.match(taken.stderr, /cannot be written: taken is a file, and init takes a folder; give another name$/m);
    }
    assert.equal(await readFile(path.join(folder, "fresh/tasks/hello.ts"), "utf8"), "export default () => 'mine';");
    assert.equal((await caissonAlone(["deploy", "fresh"])).code, 0);
    assert.deepEqual(await caissonAlone(["run", "--task", "hello", "--container", "first"]), {
      ...{ code: 0, stdout: '"mine"\n', stderr: "" },
    });
  });
});

describe("caisson deploy", () => {
  before(async () => {
    await write("caisson.json", JSON.stringify({ container: "acme", tasks: { order: { timeout: "30s" } } }));
    await write("tasks/hook.js", "module.exports = () => 'hook';\n");
    await write(
      "tasks/lib/total.ts",
      "export const total = (all: number[]): number => all.reduce((a, b) => a + b, 0);\n",
    );
    await write(
      "tasks/order.ts",
      'import { total } from "./lib/total.ts";\n\nexport default ({ body }) => total(body.lines);\n',
    );
  });

  it("prints what would change with --dry-run, and changes nothing", async () => {
    const { code, stdout, stderr } = await caisson(["deploy", "--dry-run"]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^\+ hook {2}new, 1 line, 31 B {2}\(tasks\/hook\.js\)\n\+ order {2}new, .*\n {4}timeout: "30s"\n$/,
    );
    assert.match(stderr, /comparing 2 tasks with the container acme at http/);
    assert.match(stderr, /nothing was changed: --dry-run/);
    assert.equal((await service.request("GET", "/api/tasks/acme/hook")).status, 404);
  });

  it("names files that it deploys as tasks, although they are parts of others", async () => {
    await write("parts/caisson.json", JSON.stringify({ container: "parts" }));
    await write("parts/tasks/types.ts", "export interface Order { id: number }\n");
    await write("parts/tasks/total.js", "module.exports = { total: (list) => list.length };\n");
    await write("parts/tasks/both.ts", "export const one = 1;\nexport default () => one;\n");
    const imports =
      'import type { Order } from "./types.ts";\nimport { total } from "./total.js";\nimport { one } from "./both.ts";\n';
    await write("parts/tasks/order.ts", `${imports}export default (order: Order) => [order.id, total([]), one];\n`);
    const { stderr } = await caisson(["deploy", "parts", "--dry-run"]);
    const named = [...stderr.matchAll(/tasks\/(\w+\.\w+) is deployed as a task, and another task imports it/g)];
    assert.deepEqual(
      named.map(([, file]) => file),
      ["total.js", "types.ts"],
    );
  });

  it("waits with --dry-run while the service refuses further checks of code", async () => {
    let left = 2;
    const limited = new CaissonError({ code: "too_many_requests", detail: "limited", status: 429, retryAfterMs: 20 });
    const asked: string[] = [];
    const limiting = {
      check: async (container: string) => {
        asked.push(container);
        if (left-- > 0) throw limited;
        return null;
      },
    } as unknown as Caisson;
    const source = { code: "1", modules: undefined, typescript: false };
    const wanted = { name: "a", file: "a.js", source } as unknown as Step["wanted"];
    const step = { wanted, present: null, changes: ["code"], request: { code: "1" } } as unknown as Step;
    const { applied, exitCode } = await check(limiting, "acme", [step]);
    assert.deepEqual([asked, exitCode, applied[0]!.error], [["acme", "acme", "acme"], 0, undefined]);
  });

  it("reports with --dry-run the faults of settings and code that the deployment would report, and changes nothing", async () => {
    const tasks = { bad: { timeout: 5, limits: { minutes: 5 } }, good: { timeout: "5s", public: true, net: false } };
    await write("dry/caisson.json", `\uFEFF${JSON.stringify({ container: "dry", tasks })}`);
    await write("dry/tasks/bad.js", "module.exports = () => 1;\n");
    await write("dry/tasks/good.ts", 'import { one } from "./lib/one.ts";\nexport default (a: number) => one + a;\n');
    await write("dry/tasks/lib/one.ts", "export const one: number = 1;\n");
    await write("dry/tasks/open.ts", "export default (c: object) => {\n");
    await write("dry/tasks/utils.ts", "export function add(a: number, b: number) { return a + b }\n");
    const { code, stdout, stderr } = await caisson(["deploy", "dry", "--dry-run"]);
    assert.equal(code, 2);
    assert.match(stdout, /^\+ good {2}new/m);
    assert.match(stderr, /bad \(dry\/tasks\/bad\.js\) cannot be deployed:\n.*request_invalid: .* 2 faults/);
    assert.match(stderr, /^caisson: {5}timeout must be /m);
    assert.match(stderr, /^caisson: {5}limits\.minutes belongs in /m);
    assert.match(stderr, /open \(dry\/tasks\/open\.ts\) cannot be deployed:\n.*code_syntax: .*\n?/);
    assert.match(
      stderr,
      /utils \(.*\) cannot be deployed:\n.*code_shape: .*\n.*If utils\.ts is no task, .* such as \S*tasks\/lib\/utils\.ts\. Add a/,
    );
    assert.doesNotMatch(stderr, /good \(/);
    const json = await caisson(["deploy", "dry", "--dry-run", "--json"]);
    const { tasks: planned } = JSON.parse(json.stdout) as { tasks: { name: string; error?: { code: string } }[] };
    assert.deepEqual(
      planned.map(({ name, error }) => [name, error?.code]),
      [
        ["bad", "request_invalid"],
        ["good", undefined],
        ["open", "code_syntax"],
        ["utils", "code_shape"],
      ],
    );
    assert.equal((await service.request("GET", "/api/tasks/dry/good")).status, 404);
    const one = await caisson(["tasks", "deploy", "dry", "dry/tasks/open.ts", "--dry-run"]);
    assert.equal(one.code, 2);
    assert.match(one.stderr, /code_syntax/);
    const real = await caisson(["deploy", "dry"]);
    for (const fault of [/request_invalid: .* 2 faults.*$/m, /code_syntax: .*$/m]) {
      assert.equal(fault.exec(stderr)?.[0], fault.exec(real.stderr)?.[0]);
    }
  });

  it("puts the tasks of the folder with their modules and settings, and then finds nothing to do", async () => {
    const { code, stderr } = await caisson(["deploy"]);
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /hook: version 1 is in force\ncaisson: order: version 1 is in force\n.*next: caisson run --task hook/,
    );
    const run = await caisson(["run", "--task", "order", "--input", '{"lines": [1, 2, 3]}']);
    assert.deepEqual([run.code, run.stdout], [0, "6\n"], run.stderr);
    await write("tasks/jobs/nightly.ts", "export default () => 1;\n");
    const again = await caisson(["deploy"]);
    assert.match(
      again.stderr,
      /^caisson: tasks\/jobs\/nightly\.ts is no task, and no task imports it: the files directly in tasks\/ are the tasks$/m,
    );
    assert.doesNotMatch(again.stderr, /total\.ts/);
    await rm(path.join(folder, "tasks/jobs"), { recursive: true });
    assert.equal(again.stdout, "= hook  version 1, unchanged\n= order  version 1, unchanged\n");
    assert.match(again.stderr, /everything is deployed already/);
  });

  it("prints the changed lines and members, and makes a new version", async () => {
    await write("tasks/lib/total.ts", "export const total = (all: number[]): number => all.length;\n");
    await write(
      "caisson.json",
      JSON.stringify({ container: "acme", tasks: { order: { timeout: null, description: "\u001b[2Jsum" } } }),
    );
    const { stdout } = await caisson(["deploy"]);
    assert.match(stdout, /^~ order {2}version 1 {2}\(tasks\/order\.ts\)$/m);
    assert.match(stdout, /^ {4}\.\/lib\/total\.ts:\n {4}- export .*reduce.*\n {4}\+ export .*all\.length;$/m);
    assert.match(stdout, /^ {4}timeout: "30s" -> null\n {4}description: null -> "\\u001b\[2Jsum"$/m);
    const json = await caisson(["deploy", "--json"]);
    assert.deepEqual((JSON.parse(json.stdout) as Deployed).tasks, [
      { name: "hook", action: "keep", changes: [], version: 1 },
      { name: "order", action: "keep", changes: [], version: 2 },
    ]);
  });

  it("deploys the other tasks if one does not parse, with exit code 2 and its line", async () => {
    await write("tasks/order.ts", "const = 1\n");
    await write("tasks/zero.js", "module.exports = () => 0;\n");
    const { code, stderr } = await caisson(["deploy"]);
    assert.equal(code, 2);
    assert.match(stderr, /order \(tasks\/order\.ts\) was not deployed:\ncaisson: {3}code_syntax: /);
    assert.match(stderr, /zero: version 1 is in force/);
    assert.equal(((await service.request("GET", "/api/tasks/acme/order")).json() as { version: number }).version, 2);
    await write("tasks/order.ts", "export default () => 1;\n");
  });

  it("names no next command if no task was deployed", async () => {
    await write("broken/caisson.json", JSON.stringify({ container: "acme" }));
    await write("broken/tasks/bad.js", "const = 1\n");
    const { code, stderr } = await caisson(["deploy", "broken"]);
    assert.equal(code, 2);
    assert.match(stderr, /bad \(.*tasks\/bad\.js\) was not deployed/);
    assert.doesNotMatch(stderr, /next:/);
  });

  it("keeps tasks that have no file, and deletes them with --prune", async () => {
    await rm(path.join(folder, "tasks/zero.js"));
    const kept = await caisson(["deploy"]);
    assert.match(kept.stdout, /^\? zero {2}has no file and stays; --prune deletes it$/m);
    assert.equal((await service.request("GET", "/api/tasks/acme/zero")).status, 200);
    assert.match((await caisson(["deploy", "--prune"])).stderr, /zero: deleted/);
    assert.equal((await service.request("GET", "/api/tasks/acme/zero")).status, 404);
  });

  it("sets secrets from the environment, and names those that are missing before it changes anything", async () => {
    await write("secret/caisson.json", JSON.stringify({ container: "acme", tasks: { pay: { secrets: ["PAY_KEY"] } } }));
    await write("secret/tasks/pay.js", "module.exports = (context) => context.secrets.PAY_KEY.length;\n");
    const missing = await caisson(["deploy", "secret"]);
    assert.deepEqual([missing.code, missing.stdout], [2, ""]);
    assert.match(missing.stderr, /these environment variables with secrets are not set: PAY_KEY/);
    const { code, stdout, stderr } = await caisson(["deploy", "secret"], { PAY_KEY: "s3cr3t" });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ {4}secrets: PAY_KEY$/m);
    assert.doesNotMatch(stdout + stderr, /s3cr3t/);
    assert.equal((await caisson(["run", "--task", "pay"])).stdout, "6\n");
    const again = await caisson(["deploy", "secret"]);
    assert.match(again.stdout, /^= pay {2}version 1, unchanged$/m);
    assert.match(again.stderr, /pay: the values of the secrets PAY_KEY are not compared; --secrets sets them again/);
  });

  it("sets the secrets of a task whose file names a further one, and names the variable that is not set", async () => {
    const tasks = { pay: { secrets: ["PAY_KEY", "SHOP_KEY"] } };
    await write("secret/caisson.json", JSON.stringify({ container: "acme", tasks }));
    for (const dry of [[], ["--dry-run"]]) {
      const missing = await caisson(["deploy", "secret", ...dry], { PAY_KEY: "s3cr3t" });
      assert.equal(missing.code, 2);
      assert.match(missing.stderr, /these environment variables with secrets are not set: SHOP_KEY/);
    }
    const { code, stdout, stderr } = await caisson(["deploy", "secret"], { PAY_KEY: "s3cr3t", SHOP_KEY: "other" });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^~ pay {2}version 1 .*\n {4}secrets: PAY_KEY, SHOP_KEY$/m);
    const task = (await service.request("GET", "/api/tasks/acme/pay")).json() as { secretNames: string[] };
    assert.deepEqual(task.secretNames.toSorted(), ["PAY_KEY", "SHOP_KEY"]);
    assert.match((await caisson(["deploy", "secret"])).stdout, /^= pay {2}version \d, unchanged$/m);
  });

  it("reports every fault of caisson.json at once", async () => {
    const tasks = { odrer: {}, order: { publik: true, secrets: "A" } };
    await write("wrong/caisson.json", JSON.stringify({ container: 3, tasks, bundel: true }));
    await write("wrong/tasks/order.ts", "1");
    const { code, stderr } = await caisson(["deploy", "wrong"]);
    assert.equal(code, 2);
    for (const fault of [
      /container must be a name/,
      /bundel is not a known member; did you mean bundle\?/,
      /tasks\.odrer: there is no file tasks\/odrer\.ts; did you mean order\?/,
      /tasks\.order\.publik is not a known member; did you mean public\?/,
      /tasks\.order\.secrets must be names of environment variables/,
    ])
      assert.match(stderr, fault);
    assert.match(
      (await caisson(["deploy", "nowhere"])).stderr,
      /there is no nowhere\/caisson\.json; caisson init makes one/,
    );
  });
});

describe("caisson tasks", () => {
  it("deploys one file, lists and shows it", async () => {
    await write("one.ts", "export default (context: object) => 1;\n");
    const words = [
      "tasks",
      "deploy",
      "single",
      "one.ts",
      "--name",
      "uno",
      "--public",
      "--label",
      "team=a",
      "--description",
      "first",
    ];
    const { code, stdout, stderr } = await caisson(words);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\+ uno {2}new/);
    assert.ok(stderr.includes(`anyone may run it at ${service.url}/api/run/single/uno\n`), stderr);
    assert.match(
      (await caisson(["tasks", "list", "single"])).stdout,
      /^task {2}version .*\nuno {9}1 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}public {2}first; team=a\n$/,
    );
    const shown = await caisson(["tasks", "show", "single", "uno"]);
    assert.match(shown.stdout, /^language {5}TypeScript$/m);
    assert.ok(shown.stdout.endsWith("\nexport default (context: object) => 1;\n"));
    assert.equal(
      (await caisson(["tasks", "show", "single", "uno", "--code"])).stdout,
      "export default (context: object) => 1;\n",
    );
  });

  it("rolls back to an earlier version, and deletes", async () => {
    await write("one.ts", "export default () => 2;\n");
    assert.equal((await caisson(["tasks", "deploy", "single", "one.ts", "--name", "uno"])).code, 0);
    const versions = await caisson(["tasks", "versions", "single", "uno"]);
    assert.match(versions.stdout, /^version {2}changed .*\n {6}2 .*\n {6}1 /);
    assert.match(versions.stderr, /next: caisson tasks rollback single uno 1/);
    const back = await caisson(["tasks", "rollback", "single", "uno", "1"]);
    assert.match(back.stdout, /^version {2}3, with the content of version 1$/m);
    assert.equal((await caisson(["run", "--task", "uno", "--container", "single"])).stdout, "1\n");
    assert.match((await caisson(["tasks", "delete", "single", "uno"])).stdout, /^deleted {2}uno in single$/m);
    const gone = await caisson(["tasks", "show", "single", "uno"]);
    assert.deepEqual([gone.code, gone.stdout], [2, ""]);
    assert.match(gone.stderr, /^caisson: not_found: /);
  });
});

describe("caisson logs", () => {
  before(async () => {
    await write(
      "tasks/order.ts",
      "export default ({ body }) => {\n  console.log('order', body);\n  return body.lines.length;\n};\n",
    );
    assert.equal((await caisson(["deploy"])).code, 0);
    assert.equal((await caisson(["run", "--task", "order", "--input", '{"lines": [1]}'])).code, 0);
    assert.equal((await caisson(["run", "--task", "order", "--input", '{"lines": null}'])).code, 1);
  });

  it("prints the console, and the code, the message and the position of a failure", async () => {
    const { code, stdout, stderr } = await caisson(["logs", "acme", "--task", "order", "--limit", "2"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const [first, second] = stdout.split(/^(?=\d{4}-)/m);
    assert.match(
      first!,
      /^\S+ \S+Z {2}[\da-f]{12}-\d+ {2}order v\d+\n +\d+ ms {2}info {3}order \{ lines: \[ 1 \] \}\n +\d+ ms {2}ok\n$/,
    );
    assert.match(
      second!,
      /\n +\d+ ms {2}threw\n {4}task_threw: TypeError: Cannot read properties of null \(reading 'length'\)\n/,
    );
    assert.match(second!, /^ +at .*order\.ts:3:21\)?$/m);
    assert.match(second!, /^ +> 3 \| {3}return body\.lines\.length;$/m);
    const failed = await caisson(["logs", "acme", "--failed", "--json"]);
    const records = failed.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; record?: { status: string } });
    assert.ok(records.filter(({ type }) => type === "record").every(({ record }) => record!.status !== "ok"));
  });

  it("follows with -f: the latest runs first, then what comes, also with a selection", async () => {
    for (const selection of [[], ["--failed"]]) {
      const words = ["scripts/node", "dist/main.js", "logs", "acme", "-f", "--limit", "1", ...selection];
      const environment = { ...process.env, CAISSON_URL: service.url, CAISSON_TOKEN: service.admin };
      following = spawn(words[0]!, words.slice(1), { cwd: ROOT, env: environment });
      const ended = once(following, "exit");
      let [stdout, stderr] = ["", ""];
      following.stdout!.setEncoding("utf8").on("data", (part: string) => (stdout += part));
      following.stderr!.setEncoding("utf8").on("data", (part: string) => (stderr += part));
      await until(() => stderr.includes("following acme; Ctrl-C ends"), "the command follows");
      assert.match(stdout, /threw\n {4}task_threw/);
      const shown = stdout.length;
      await caisson(["run", "--task", "order", "--input", '{"lines": "abc"}']);
      await caisson(["run", "--task", "order", "--input", '{"lines": 0.5, "x": null}']);
      await caisson(["run", "--task", "order", "--input", "{}"]);
      await until(() => /task_threw: TypeError: .*undefined/.test(stdout.slice(shown)), "the end of the last run");
      const news = stdout.slice(shown);
      assert.equal(/lines: 'abc'/.test(news), selection.length === 0, news);
      assert.match(news, /info {3}order \{\}\n +\d+ ms {2}threw\n/);
      following.kill("SIGINT");
      await ended;
    }
  });

  it("needs the verb logs, with exit code 3, and names the flag to continue without runs", async () => {
    const token = await service.issue({ containers: ["acme"], can: ["run"] });
    const { code, stderr } = await caisson(["logs", "acme"], { CAISSON_TOKEN: token });
    assert.equal(code, 3);
    assert.match(stderr, /^caisson: token_forbidden: .*logs/);
    assert.match(
      (await caisson(["logs", "silent"])).stderr,
      /no run of silent is on record; caisson logs silent -f waits/,
    );
  });
});

describe("the commands that read", () => {
  it("end without an error when the reader of their output has enough", async () => {
    await write("long.js", "'x'.repeat(1e6)");
    const words = `'${ROOT}/scripts/node' '${ROOT}/dist/main.js' run '${folder}/long.js' | head -c 2`;
    const settings = { ...process.env, CAISSON_URL: service.url, CAISSON_TOKEN: service.admin };
    const child = spawn("bash", ["-o", "pipefail", "-c", words], { env: settings });
    const [printed, failed, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    assert.deepEqual([printed, failed, code], ['"x', "", 0]);
  });

  it("list runs in a table of at most 80 columns, and show one", async () => {
    const { stdout } = await caisson(["runs", "list", "acme", "--status", "threw"]);
    const [head, row] = stdout.split("\n");
    assert.match(head!, /^run +started +status +time {2}task$/);
    const run = row!.split(" ")[0]!;
    assert.ok(
      stdout.split("\n").every((line) => line.length <= 80),
      stdout,
    );
    const shown = await caisson(["runs", "show", "acme", run]);
    assert.match(shown.stdout, /^status {5}threw$/m);
    assert.match(shown.stdout, /^task_threw: TypeError/m);
    assert.equal(
      (JSON.parse((await caisson(["runs", "show", "acme", run, "--json"])).stdout) as { run: string }).run,
      run,
    );
    assert.equal((await caisson(["runs", "cancel", "acme", run])).code, 2);
  });

  it("sum up the usage by container and by task", async () => {
    const counted = async (): Promise<string> => (await caisson(["usage", "--by", "task"])).stdout;
    await until(async () => /^ +\d+ +[1-9]\d* .*acme order$/m.test(await counted()), "the failures are counted");
    const [head, ...rows] = (await caisson(["usage"])).stdout.trimEnd().split("\n");
    assert.match(head!, /^ *runs {2}failed {2}refused +cpu +time +egress {2}container$/);
    assert.ok(rows.some((row) => row.endsWith(" acme")));
    const days = await caisson(["usage", "--since", "3d", "--step", "day"]);
    assert.match(days.stdout, /^day .*\n\d{4}-\d\d-\d\d /);
    const json = JSON.parse((await caisson(["usage", "--json"])).stdout) as { usage: { container: string }[] };
    assert.ok(json.usage.some(({ container }) => container === "acme"));
    for (const wrong of [
      ["--since", "7x"],
      ["--since", "yesterday"],
    ]) {
      assert.equal((await caisson(["usage", ...wrong])).code, 2);
    }
  });

  it("list the audit", async () => {
    const { stdout } = await caisson(["audit", "--action", "task deleted"]);
    assert.match(stdout, /^time +action +details\n\S+ \S+Z {2}task deleted {2}container /);
    assert.ok(
      stdout.split("\n").every((line) => line.length <= 80),
      stdout,
    );
  });
});
