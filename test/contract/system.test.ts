import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { SETTINGS } from "../../src/config.ts";
import { VERSION } from "../../src/http/headers.ts";
import { command } from "../cli/command.ts";
import { assertProblem } from "./problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";

interface System {
  readonly version: string;
  readonly startedAt: string;
  readonly node: { readonly name: string; readonly process: string };
  readonly warnings: readonly string[];
  readonly checks: readonly { readonly layer: string; readonly state: string; readonly remedy: string | null }[];
  readonly nodes: readonly object[];
  readonly keys: readonly { readonly kid: string; readonly state: string }[];
  readonly settings: readonly {
    readonly name: string;
    readonly value: string | null;
    readonly default: string | null;
    readonly setBy: string;
  }[];
}

interface Check {
  readonly checked: boolean;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly at: { readonly file: string; readonly line: number; readonly column: number } | null;
  } | null;
}

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  const file = path.join(path.dirname(home.data), "settings.json");
  await writeFile(file, JSON.stringify({ wallLimit: "7s", containerLimit: ["minute=60", "day=900"] }));
  const flags = [...NO_WALL, "--config", file, "--node-name", "a1", "--family-checks", "5"];
  service = await startService(flags, home);
});
after(() => leave(service, home));

async function system(): Promise<System> {
  return (await service.request("GET", "/api/system")).json() as System;
}

async function run(...words: string[]): Promise<string> {
  const ended = await command([...words, "--url", service.url], { CAISSON_TOKEN: service.admin });
  assert.deepEqual([ended.code, ended.stderr], [0, ""]);
  return ended.stdout;
}

async function check(options: object): Promise<Check> {
  const answer = await service.request("POST", "/api/check/demo", options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json() as Check;
}

describe("GET /api/system", () => {
  it("has every setting in force, with its default and where it was set", async () => {
    const { settings } = await system();
    assert.deepEqual(
      settings.map(({ name }) => name),
      Object.keys(SETTINGS),
    );
    const of = (name: string): unknown => {
      const { value, default: fallback, setBy } = settings.find((each) => each.name === name)!;
      return [value, fallback, setBy];
    };
    assert.deepEqual(of("wallLimit"), ["7s", "30s", "file"]);
    assert.deepEqual(of("containerLimit"), ["minute=60,day=900", null, "file"]);
    assert.deepEqual(of("nodeName"), ["a1", null, "flag"]);
    assert.deepEqual(of("memoryLimit"), ["256MiB", "256MiB", "default"]);
    assert.deepEqual(of("egressPorts"), ["80,443,8080,8443", "80,443,8080,8443", "default"]);
    assert.deepEqual(of("queryKey"), ["true", "true", "default"]);
  });

  it("has the checks of the start with their remedies, the warnings, the node and the keys", async () => {
    const answer = await system();
    assert.equal(answer.version, VERSION);
    assert.ok(Date.parse(answer.startedAt) <= Date.now());
    const sandbox = answer.checks.find(({ layer }) => layer === "sandbox")!;
    assert.equal(sandbox.state, "open");
    assert.match(sandbox.remedy!, /--isolation auto/);
    assert.deepEqual(answer.checks.map(({ layer }) => layer).slice(0, 2), ["platform", "Node"]);
    assert.match(answer.warnings[0]!, /^Tasks can read this machine/);
    assert.equal(answer.node.name, "a1");
    const { version, startedAt, checks } = answer;
    const own = { version, startedAt, checks, isolation: "none", differences: [] };
    assert.deepEqual(answer.nodes, [{ ...answer.node, url: null, state: "self", ...own }]);
    const { keys } = (await service.request("GET", "/.well-known/jwks.json")).json() as { keys: { kid: string }[] };
    assert.deepEqual(
      answer.keys.map(({ kid, state }) => [kid, state]),
      keys.map(({ kid }) => [kid, "signing"]),
    );
  });

  it("is for administrators", async () => {
    const token = await service.issue({ containers: ["*"], can: ["run", "limits", "logs", "tasks", "issue"] });
    assertProblem(await service.request("GET", "/api/system", { token }), 403, "token_forbidden");
    assertProblem(await service.request("GET", "/api/system", { token: null }), 403, "token_missing");
  });
});

describe("the command line", () => {
  it("prints the settings that are set, and all with a flag", async () => {
    const [changed, all] = await Promise.all([run("settings"), run("settings", "--all")]);
    assert.match(changed, /^--wall-limit +7s +file of --config +30s$/m);
    assert.match(changed, /^--node-name +a1 +flag +-$/m);
    assert.doesNotMatch(changed, /--memory-limit/);
    assert.match(all, /^--memory-limit +256MiB +default +256MiB$/m);
  });

  it("prints what the start has found, with the remedies", async () => {
    const text = await run("system");
    assert.match(text, /^node +a1$/m);
    assert.match(text, /^warning +Tasks can read this machine/m);
    assert.match(text, /^FAIL +sandbox +--isolation none/m);
  });
});

describe("POST /api/check/{container}", () => {
  it("names the line of code that does not parse, and runs nothing", async () => {
    const { checked, error } = await check({ body: "console.log(1);\nconst b = ;\n" });
    assert.deepEqual([checked, error?.code, error?.at?.line, error?.at?.column], [true, "code_syntax", 2, 11]);
    assert.deepEqual(await check({ body: "throw new Error('it would have run')" }), { checked: true, error: null });
    const { runs } = (await service.request("GET", "/api/runs")).json() as { runs: object[] };
    assert.deepEqual(runs, []);
    const { day } = (await service.request("GET", "/api/limits/container/demo")).json() as { day: number };
    assert.equal(day, 900);
  });

  it("reads an envelope with modules, and TypeScript by the name of the file", async () => {
    const code = 'import { two } from "./lib.ts";\nexport default (): number => two;';
    const json = { code, modules: { "./lib.ts": "export const two: number = 2;" }, file: "task.ts" };
    assert.deepEqual(await check({ json }), { checked: true, error: null });
    const missing = await check({ json: { code, file: "task.ts" } });
    assert.equal(missing.error?.code, "module_missing");
  });

  it("reports code that exhausts the parser, and answers the next check", async () => {
    const { error } = await check({ body: `return ${"(".repeat(400_000)}` });
    assert.equal(error?.code ?? "code_syntax", "code_syntax");
    assert.deepEqual(await check({ body: "6 * 7" }), { checked: true, error: null });
  });

  it("is for tokens that may run code or keep tasks in the container, and that are not pinned", async () => {
    const tasks = await service.issue({ containers: ["demo"], can: ["tasks"] });
    assert.deepEqual(await check({ body: "6 * 7", token: tasks }), { checked: true, error: null });
    for (const claims of [
      { containers: ["demo"], can: ["limits"] },
      { containers: ["other"], can: ["run"] },
      { containers: ["demo"], can: ["run"], code: { url: "https://a.example/x.js" } },
    ]) {
      const token = await service.issue(claims);
      assertProblem(await service.request("POST", "/api/check/demo", { body: "1", token }), 403, "token_forbidden");
    }
  });

  it("refuses requests without code, and a family that checks too often, with the exact wait", async () => {
    assertProblem(await service.request("POST", "/api/check/demo"), 400, "code_missing");
    assertProblem(await service.request("POST", "/api/check/demo", { body: "  " }), 400, "code_missing");
    assertProblem(await service.request("POST", "/api/check/demo", { json: { source: "1" } }), 400, "request_invalid");
    const token = await service.issue({ containers: ["demo"], can: ["run"] });
    for (let at = 0; at < 5; at++) await check({ body: "1", token });
    const refused = await service.request("POST", "/api/check/demo", { body: "1", token });
    assertProblem(refused, 429, "token_limited");
    assert.ok(Number(refused.headers["retry-after"]) <= 60);
    // Runs of the token have other limits.
    assert.equal((await service.run("demo", "1", { token })).status, 200);
  });
});
