import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { Caisson } from "../../client/src/index.ts";
import { TestRegistry } from "../builder/test-registry.ts";
import { command, type Ended } from "../cli/command.ts";
import type { Answer, RequestOptions } from "./http.ts";
import { connectMcp } from "./mcp-clients.ts";
import { assertProblem } from "./problem.ts";
import { jtiOf } from "./record.ts";
import { scrape } from "./scrape.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const ESM = { type: "module", exports: { ".": "./index.js", "./loud": "./loud.js" } };
const GREET = ["greet", "@acme/*", "zod", "pinned@1", "slow", "lodash", "preact", "hono"];
/** The claims of the tokens of these tests. */
const CUSTOMER = { containers: ["acme", "acme-*"], can: ["run", "tasks", "logs"] };
const IMPORT = 'import { greet } from "npm:greet@1"; export default () => greet("you")';

let registry: TestRegistry;
let home: Home;
let service: Service;
let flags: readonly string[];
let customer: string;

before(async () => {
  registry = await TestRegistry.open();
  publishGreet("1.0.0");
  registry.publishInstalled("zod");
  registry.publishInstalled("hono");
  registry.publish("@acme/tools", "1.0.0", { "index.js": "exports.answer = () => 42" });
  registry.publish("slow", "1.0.0", { "index.js": "exports.slow = 1" });
  flags = [
    ...[...NO_WALL, "--npm-registry", registry.url.href, "--npm-min-age", "0s", "--packages-wait", "2s"],
    ...["--npm-allow", GREET.join()],
  ];
  home = await makeHome();
  service = await startService(flags, home);
  customer = await service.issue(CUSTOMER);
});
after(async () => {
  registry.close();
  await leave(service, home);
});

function publishGreet(version: string): void {
  const files = {
    "index.js": `export const greet = (name) => "hello " + name; export const version = "${version}";`,
    "loud.js": 'import { greet } from "./index.js"; export default (name) => greet(name).toUpperCase();',
  };
  registry.publish("greet", version, files, { manifest: ESM });
}

const send = (method: string, target: string, options: RequestOptions = {}): Promise<Answer> => {
  return service.request(method, target, { token: customer, ...options });
};
const runOnce = (code: string, more: object = {}, options: RequestOptions = {}): Promise<Answer> => {
  return send("POST", "/api/run/acme", { json: { code, ...more }, ...options });
};

/** Runs code, again while its packages are built. */
async function run(code: string, more: object = {}, options: RequestOptions = {}): Promise<Answer> {
  let answer = await runOnce(code, more, options);
  while (answer.status === 503 && answer.text.includes('"packages_building"'))
    answer = await runOnce(code, more, options);
  return answer;
}

/** Builds packages, and asks again while that takes longer than a request waits. */
async function build(json: object, token = customer): Promise<Answer> {
  let answer = await send("POST", "/api/packages/warm", { json, token });
  while (answer.status === 202) answer = await send("POST", "/api/packages/warm", { json, token });
  return answer;
}

/** What a tool of the MCP endpoint shows of a task. */
interface Saved {
  readonly packages: Record<string, string> | null;
  readonly lock?: { readonly roots: Record<string, string> };
}

/** Puts a task, and waits for the build of its packages. */
async function put(name: string, members: object, options: RequestOptions = {}): Promise<TaskAnswer> {
  const target = `/api/tasks/acme/${name}`;
  let answer = await send("PUT", target, { json: members, ...options });
  // A busy machine may take longer to build than the request waits.
  while (answer.status === 202) answer = await send("PUT", target, { json: members, ...options });
  assert.ok([200, 201].includes(answer.status), answer.text);
  return answer.json() as TaskAnswer;
}

interface TaskAnswer {
  readonly version: number;
  readonly packages: Record<string, string> | null;
  readonly lock: { readonly key: string; readonly roots: Record<string, string>; readonly requestedBy: string } | null;
}

const refused = async (code: string, more: object, token: string, text: RegExp): Promise<void> => {
  const answer = await run(code, more, { token });
  assertProblem(answer, 403, "packages_forbidden");
  assert.match((answer.json() as { detail: string }).detail, text);
};

const buildsOf = async (token: string): Promise<{ state: string; packages: object; startedAt: string | null }[]> => {
  return ((await send("GET", "/api/packages", { token })).json() as { builds: [] }).builds;
};

const versionOf = async (name: string): Promise<unknown> => (await send("POST", `/api/run/acme/${name}`)).json();

const caisson = (...words: string[]): Promise<Ended> => {
  return command([...words, "--port", String(service.port), "--data", home.data]);
};

describe("code that imports packages", () => {
  it("names them in its specifiers, in a body that is the code itself", async () => {
    const answer = await send("POST", "/api/run/acme", { body: IMPORT });
    assert.equal(answer.text, '"hello you"');
  });

  it("names them in the envelope, also by import(), require and with sub-paths", async () => {
    const code = `
      import loud from "greet/loud";
      export default async () => [loud("you"), (await import("greet")).greet("a"), require("@acme/tools").answer()]`;
    const answer = await run(code, { packages: { greet: "^1", "@acme/tools": "*" } });
    assert.deepEqual(answer.json(), ["HELLO YOU", "hello a", 42]);
  });

  it("cannot name an entry that a package does not have, and receives the names of its entries", async () => {
    for (const code of ['import x from "npm:zod/v5"; export default x', 'return require("zod/v5")']) {
      const more = code.includes("npm:") ? {} : { packages: { zod: "^4" } };
      const { detail, hint } = assertProblem(await run(code, more), 400, "module_missing");
      assert.match(detail, /there is no module "(?:npm:)?zod\/v5": the package has zod, .*zod\/v4.*, and not this one/);
      assert.equal(hint, "Did you mean zod/v3?");
    }
    const { hint } = assertProblem(
      await run('import x from "npm:greet/quietly"; export default x'),
      400,
      "module_missing",
    );
    assert.equal(hint, "Import one of these entries.");
  });

  it("cannot import a name that a package does not export, and receives the name that is meant", async () => {
    const near = await run('import { gret } from "npm:greet"; export default gret', {});
    assert.equal(assertProblem(near, 400, "code_syntax").hint, "Did you mean greet?");
  });

  it("runs zod, with the line of the text in an error", async () => {
    const code = 'import { z } from "zod";\nexport default () => z.number().parse(42)';
    assert.equal((await run(code, { packages: { zod: "^4" } })).text, "42");
    const wrong = 'import { z } from "zod";\n\nexport default () => z.number().parse("x")';
    const answer = await send("POST", "/api/runs/acme", {
      json: { code: wrong, packages: { zod: "^4" }, file: "a.ts" },
    });
    const { error } = answer.json() as { error: { name: string; at: { file: string; line: number } } };
    assert.deepEqual([error.name, error.at.file, error.at.line], ["ZodError", "a.ts", 3]);
  });

  it("finds nothing that it does not name before the run, so that a name carries no data out", async () => {
    const asked = registry.requests.length;
    const code = 'export default () => import("npm:greet@" + 1).catch((error) => error.code)';
    assert.equal((await run(code)).text, '"ERR_MODULE_NOT_FOUND"');
    assert.equal(registry.requests.length, asked);
  });

  it("may have decorators and JSX, whose runtime is found by the package", async () => {
    const runtime = "export const jsx = (type, props) => [type, props]; export const jsxs = jsx;";
    const manifest = { type: "module", exports: { ".": "./index.js", "./jsx-runtime": "./jsx-runtime.js" } };
    registry.publish(
      "preact",
      "10.0.0",
      { "index.js": "export const h = 1;", "jsx-runtime.js": runtime },
      { manifest },
    );
    const jsx = 'import { h } from "npm:preact@10";\nexport default () => [h, <b id="x">hi</b>];';
    assert.deepEqual((await run(jsx)).json(), [1, ["b", { id: "x", children: "hi" }]]);
    const decorated = `const twice = (method: () => number) => function () { return 2 * method.call(this) };
      class A { @twice answer(): number { return 21 } }
      export default () => new A().answer()`;
    assert.equal((await run(decorated)).text, "42");
  });

  it("has the versions in its record, and the lock by its key", async () => {
    const answer = await send("POST", "/api/runs/acme", { body: IMPORT });
    const { packages, run: id } = answer.json() as { packages: { lock: string; versions: object }; run: string };
    assert.deepEqual(packages.versions, { greet: "1.0.0" });
    const stored = (await send("GET", `/api/runs/acme/${id}`)).json() as { packages: object };
    assert.deepEqual(stored.packages, packages);
    const lock = (await send("GET", `/api/packages/locks/${packages.lock}`)).json() as {
      lock: { packages: { name: string; version: string; integrity: string }[] };
    };
    assert.deepEqual(
      lock.lock.packages.map(({ name, version }) => [name, version]),
      [["greet", "1.0.0"]],
    );
    assert.match(lock.lock.packages[0]!.integrity, /^sha512-/);
    const stranger = await service.issue(CUSTOMER);
    assertProblem(await send("GET", `/api/packages/locks/${packages.lock}`, { token: stranger }), 404, "not_found");
  });

  it("is saved by a tool of the MCP endpoint, which shows the versions and the lock", async () => {
    await using client = await connectMcp("2026", { url: `${service.url}/mcp/acme`, token: customer });
    const given = { name: "kept", code: IMPORT, packages: { greet: "^1" } };
    let saved = await client.call("save_task", given);
    while (saved.structured["building"] === true) saved = await client.call("save_task", given);
    assert.match(saved.text, /^The task kept is \w+: version 1\. Its packages are greet@1\.\d\.\d\.$/);
    const task = saved.structured["task"] as Saved;
    assert.deepEqual(task.packages, { greet: "^1" });
    assert.match(task.lock!.roots["greet"]!, /^greet@1\./);
    const one = await client.call("list_tasks", { name: "kept" });
    assert.match(one.text, /^kept, version 1, a tool\nIts packages are greet@1\.\d\.\d\.\n/);
    assert.deepEqual((one.structured["task"] as Saved).lock, task.lock);
    const [listed] = (await client.call("list_tasks")).structured["tasks"] as (Saved & { name: string })[];
    assert.equal(listed!.lock, undefined, "a lock may have 256 KiB");
  });

  it("is run by a tool of the MCP endpoint, whose description lists the packages", async () => {
    await using client = await connectMcp("2026", { url: `${service.url}/mcp/acme`, token: customer });
    const tool = (await client.tools()).find(({ name }) => name === "run_code")!;
    assert.match(tool.description!, /Only these packages of npm can be imported: greet, /);
    const code = 'import { greet } from "greet"; export default () => greet("agent")';
    const result = await client.call("run_code", { code, packages: { greet: "1" } });
    assert.match(JSON.stringify(result), /hello agent/);
    await client.call("save_task", { name: "saved", code, packages: { greet: "1" } });
    const { packages, lock } = (await send("GET", "/api/tasks/acme/saved")).json() as TaskAnswer;
    assert.deepEqual([packages, Object.keys(lock!.roots)], [{ greet: "1" }, ["greet"]]);
    assert.equal(await versionOf("saved"), "hello agent");
  });

  it("is run by the client, which has the packages as an option", async () => {
    const client = new Caisson({ url: service.url, token: customer });
    const code = 'import { greet } from "greet"; export default () => greet("client")';
    assert.equal(await client.run("acme", code, { packages: { greet: "1" } }), "hello client");
  });

  it("waits no longer than its timeout for a build, and receives the time of the next attempt", async () => {
    const gate = Promise.withResolvers<void>();
    registry.instead.set("/slow", (_, response) => void gate.promise.then(() => response.destroy()));
    const hasty = await service.issue({ ...CUSTOMER, timeout: "100ms" });
    const answer = await runOnce("1", { packages: { slow: "1" } }, { token: hasty });
    assertProblem(answer, 503, "packages_building");
    assert.equal(answer.headers["retry-after"], "2");
    registry.instead.delete("/slow");
    gate.resolve();
  });
});

describe("what is not permitted", () => {
  it("is refused by the list of the operator before anything is counted", async () => {
    const once = await service.issue({ ...CUSTOMER, limits: { token: { day: 1 } } });
    await refused('import "npm:left-pad@1"', {}, once, /left-pad is not permitted: --npm-allow does not list it/);
    await refused(
      "1",
      { packages: { pinned: "2" } },
      once,
      /pinned is not permitted: --npm-allow permits only the range 1/,
    );
    assert.equal((await run("1", {}, { token: once })).status, 200);
  });

  it("is refused by the claim of the token, and of the tasks below it", async () => {
    const narrow = await service.issue({ ...CUSTOMER, packages: ["@acme/*"] });
    await refused(IMPORT, {}, narrow, /greet is not permitted: the claim packages of the token does not list it/);
    const code = 'import { answer } from "npm:@acme/tools"; export default () => answer()';
    assert.equal((await run(code, {}, { token: narrow })).text, "42");
    const none = await service.issue({ ...CUSTOMER, packages: false });
    await refused(IMPORT, {}, none, /its claim packages is false/);
    const task = await send("PUT", "/api/tasks/acme/narrow", { json: { code: IMPORT }, token: narrow });
    assertProblem(task, 403, "packages_forbidden");
  });

  it("is a package next to code that a token is pinned to", async () => {
    const sha256 = createHash("sha256").update(IMPORT).digest("hex");
    const pinned = await service.issue({ containers: ["acme"], code: { sha256 } });
    assertProblem(await run(IMPORT, { packages: { greet: "1" } }, { token: pinned }), 400, "code_pinned");
    assert.equal((await run(IMPORT, {}, { token: pinned })).text, '"hello you"');
    const warm = await send("POST", "/api/packages/warm", { json: { packages: { greet: "1" } }, token: pinned });
    assertProblem(warm, 400, "code_pinned");
  });

  it("is a request with names and ranges that are none", async () => {
    const answer = await run("1", { packages: { "../x": "1", fs: "1", zod: "file:../x", greet: "1".repeat(10_000) } });
    assertProblem(answer, 400, "request_invalid");
    const { violations } = answer.json() as { violations: { pointer: string }[] };
    assert.deepEqual(
      violations.map(({ pointer }) => pointer),
      ["#/packages/..~1x", "#/packages/fs", "#/packages/zod", "#/packages/greet"],
    );
    const proto = await send("POST", "/api/run/acme", {
      body: '{"code":"1","packages":{"__proto__":"1"}}',
      headers: { "content-type": "application/json" },
    });
    assertProblem(proto, 400, "request_invalid");
  });
});

describe("a named task", () => {
  const CODE = 'import { version } from "greet"; export default () => version';

  it("keeps its versions until they are updated, and a rollback brings them back", async () => {
    const first = await put("keeps", { code: CODE, packages: { greet: "^1" } });
    assert.deepEqual([first.packages, first.lock!.roots], [{ greet: "^1" }, { greet: "greet@1.0.0" }]);
    publishGreet("1.1.0");
    assert.equal((await put("keeps", { description: "changed" })).lock!.key, first.lock!.key);
    const moved = await put("keeps", { update: ["greet"] });
    assert.deepEqual([moved.version, moved.lock!.roots], [3, { greet: "greet@1.1.0" }]);
    assert.equal(await versionOf("keeps"), "1.1.0");
    assert.equal((await put("keeps", { update: ["greet"] })).version, 3);
    const back = await send("POST", "/api/tasks/acme/keeps/rollback", { json: { version: 1 } });
    assert.deepEqual((back.json() as TaskAnswer).lock, { ...first.lock });
    assert.equal(await versionOf("keeps"), "1.0.0");
    const read = (await send("GET", "/api/tasks/acme/keeps")).json() as TaskAnswer;
    assert.deepEqual(read.lock, first.lock);
    const { versions } = (await send("GET", "/api/tasks/acme/keeps/versions")).json() as { versions: TaskAnswer[] };
    assert.deepEqual(
      versions.map(({ lock }) => lock!.roots["greet"]),
      ["greet@1.0.0", "greet@1.1.0", "greet@1.0.0", "greet@1.0.0"],
    );
  });

  it("may name its packages in its text, and in the query of its source", async () => {
    const headers = { "content-type": "application/javascript" };
    const query = { packages: '{"@acme/tools":"1"}' };
    const body = 'module.exports = () => require("@acme/tools").answer()';
    let answer = await send("PUT", "/api/tasks/acme/source", { body, headers, query });
    while (answer.status === 202) answer = await send("PUT", "/api/tasks/acme/source", { body, headers, query });
    // The first request has published the task if the build took longer than it waited.
    assert.ok([200, 201].includes(answer.status), answer.text);
    assert.equal(await versionOf("source"), 42);
    assert.equal((await put("text", { code: IMPORT })).packages, null);
    assert.equal(await versionOf("text"), "hello you");
  });

  it("reports the fault of its code, and of an update of what it does not import", async () => {
    const wrong = await send("PUT", "/api/tasks/acme/wrong", { json: { code: "x = ", packages: { greet: "1" } } });
    assertProblem(wrong, 400, "code_syntax");
    const other = await send("PUT", "/api/tasks/acme/wrong", { json: { code: IMPORT, update: ["zod"] } });
    assertProblem(other, 400, "request_invalid");
    assert.match((other.json() as { detail: string }).detail, /update has zod, which the task does not import/);
  });

  it("cannot lose packages that its code imports", async () => {
    await put("needs", { code: 'import { greet } from "greet"; export default greet', packages: { greet: "^1" } });
    for (const packages of [null, {}]) {
      const answer = await send("PUT", "/api/tasks/acme/needs", { json: { packages } });
      assertProblem(answer, 400, "module_missing");
    }
  });

  it("is tried without being published", async () => {
    const json = { code: CODE, packages: { greet: "1.0.0" } };
    const answer = await send("PUT", "/api/tasks/acme/tried?dryRun=true", { json });
    const { record } = answer.json() as { record: { result: string; packages: { versions: object } } };
    assert.deepEqual([record.result, record.packages.versions], ["1.0.0", { greet: "1.0.0" }]);
    assertProblem(await send("GET", "/api/tasks/acme/tried"), 404, "not_found");
  });

  it("loses its secrets if another token changes its packages", async () => {
    const json = { code: CODE, packages: { greet: "1.0.0" }, secrets: { KEY: "s3cret" } };
    await put("secret", json, { token: service.admin });
    const answer = await send("PUT", "/api/tasks/acme/secret", {
      json: { packages: { greet: "^1" }, update: ["greet"] },
    });
    // A build that takes long is answered before the task has lost them.
    if (answer.status !== 202) {
      assert.match(answer.headers["caisson-hint"] ?? "", /does not keep the secrets of the task: KEY/);
    }
    const secretNamesOf = async (): Promise<unknown> =>
      ((await send("GET", "/api/tasks/acme/secret")).json() as { secretNames: unknown }).secretNames;
    await until(async () => isDeepStrictEqual(await secretNamesOf(), []), "the task has no secrets");
  });

  it("is published when its packages are built, if that takes longer than the request waits", async () => {
    const gate = Promise.withResolvers<void>();
    registry.publish("slow", "2.0.0", { "index.js": "exports.slow = 2" });
    let held = 0;
    registry.instead.set("/slow/-/slow-2.0.0.tgz", (request, response) => {
      held++;
      void (async () => {
        await gate.promise;
        registry.instead.delete("/slow/-/slow-2.0.0.tgz");
        response.writeHead(307, { location: request.url! }).end();
      })();
    });
    const json = { code: 'module.exports = () => require("slow").slow', packages: { slow: "2" } };
    const answer = await send("PUT", "/api/tasks/acme/later", { json });
    assert.deepEqual(
      [answer.status, answer.json()],
      [202, { container: "acme", name: "later", build: { state: "building" } }],
    );
    await until(() => held === 1, "the builder asks for the archive");
    assertProblem(await send("POST", "/api/run/acme/later"), 503, "packages_building");
    gate.resolve();
    await until(async () => (await send("GET", "/api/tasks/acme/later")).status === 200, "the task is published");
    assert.equal(await versionOf("later"), 2);
  });

  it("is refused while eight changes of its token family wait for packages, because each holds its code", async () => {
    const gate = Promise.withResolvers<void>();
    registry.instead.set("/slow", (_, response) => void gate.promise.then(() => response.destroy()));
    const code = 'module.exports = () => require("slow").slow';
    const putSlow = (name: string, token: string): Promise<Answer> =>
      send("PUT", `/api/tasks/acme/${name}`, { json: { code, packages: { slow: "<3" } }, token });
    const token = await service.issue({ ...CUSTOMER, can: ["run", "tasks"] });
    const waiting = Array.from({ length: 8 }, (_, at) => putSlow(`waits-${at}`, token));
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      Array.from({ length: 8 }, () => 202),
    );
    const ninth = await putSlow("ninth", token);
    assert.match(assertProblem(ninth, 503, "packages_building").detail, /^8 changes of tasks of the token family wait/);
    assert.equal((await putSlow("of-another-family", service.admin)).status, 202);
    registry.instead.delete("/slow");
    gate.resolve();
    await until(async () => (await putSlow("ninth", token)).status !== 503, "the changes have ended");
  });

  it("whose packages are no longer permitted is refused", async () => {
    await service.request("PUT", "/api/packages/allow/late@1");
    registry.publish("late", "1.0.0", { "index.js": "exports.late = 1" });
    await put("late", { code: 'module.exports = () => require("npm:late").late' });
    assert.equal(await versionOf("late"), 1);
    await service.request("DELETE", "/api/packages/allow/late@1");
    assertProblem(await send("POST", "/api/run/acme/late"), 403, "packages_forbidden");
  });
});

describe("code with decorators or JSX", () => {
  it("calls the functions of its package for JSX", async () => {
    const code = 'const who: string = "you";\nexport default () => new Response(String(<p class="a">hello {who}</p>))';
    const answer = await run(code, { packages: { hono: "^4" } });
    assert.deepEqual([answer.status, answer.text], [200, '<p class="a">hello you</p>']);
  });

  it("runs without packages, as the text of a request and as a task, with its own lines in errors", async () => {
    const twice = `function twice(method: () => number) {
      return function (this: unknown) { return 2 * method.call(this); };
    }
    class Sizes { @twice two(): number { return 2; } }`;
    assert.equal((await service.run("acme", `${twice}\nreturn new Sizes().two()`)).text, "4");
    const stored = await send("PUT", "/api/tasks/acme/sizes", {
      json: { code: `${twice}\nexport default () => new Sizes().two()` },
    });
    assert.equal(stored.status, 201, stored.text);
    assert.equal((await send("POST", "/api/run/acme/sizes")).text, "4");
    const jsx = "/** @jsx h */\nconst h = (tag) => tag;\nexport default () => {\n  throw new Error(<b/>);\n};";
    const problem = assertProblem(await service.run("acme", jsx), 500, "task_threw");
    assert.match(problem.error!.stack!, /task\.js:4:9/);
  });

  it("with a mistake is code_syntax with the line, also when it is put as a task", async () => {
    const code = "const a = 1;\nexport default () => <div><b></div>;";
    for (const answer of [await run(code), await send("PUT", "/api/tasks/acme/wrong", { json: { code } })]) {
      assert.match(assertProblem(answer, 400, "code_syntax").detail, /closing "div" tag .*\(line 2, column \d+\)/);
    }
    const decorated =
      "const once = (m) => m;\nclass A {\n  @once a() { return 1; }\n  @once 1 +;\n}\nexport default 1;";
    assert.match(
      assertProblem(await run(decorated), 400, "code_syntax").detail,
      /\(line 4, column \d+\)\n.*@once 1 \+/,
    );
  });

  it("has the line of the text in an error of a decorated method", async () => {
    const code = `const once = (method: () => number) => method;
class A {
  @once fail(): number {
    throw new RangeError("no");
  }
}
export default () => new A().fail();`;
    const problem = assertProblem(await run(code), 500, "task_threw");
    assert.match(problem.error!.stack!, /task\.js:4:11/);
  });
});

describe("the list of packages", () => {
  it("is read by each token, and changed by administrators", async () => {
    registry.publish("added-by-api", "1.0.0", { "index.js": "" });
    assertProblem(await send("PUT", "/api/packages/allow/added-by-api"), 403, "token_forbidden");
    assertProblem(await service.request("PUT", "/api/packages/allow/..%2Fx"), 400, "request_invalid");
    const added = await service.request("PUT", "/api/packages/allow/added-by-api");
    assert.equal(added.status, 200);
    const { npm, allow } = (await send("GET", "/api/packages")).json() as {
      npm: string;
      allow: { package: string; setBy: string }[];
    };
    assert.equal(npm, "listed");
    assert.deepEqual(
      allow.filter(({ setBy }) => setBy === "administrator").map((each) => each.package),
      ["added-by-api"],
    );
    assertProblem(await service.request("DELETE", "/api/packages/allow/greet"), 400, "request_invalid");
    assert.equal((await service.request("DELETE", "/api/packages/allow/added-by-api")).status, 200);
    assertProblem(await service.request("DELETE", "/api/packages/allow/added-by-api"), 404, "not_found");
  });

  it("warms what code requires", async () => {
    const packages = { greet: "1.0.0 - 1.9.9" };
    const warmed = await build({ packages, entries: ["require:greet", "greet/loud"] });
    const { lock } = warmed.json() as { lock: { entries: string[] } };
    assert.deepEqual(lock.entries, ["greet", "greet/loud", "require:greet", "require:greet/loud"]);
    const asked = registry.requests.length;
    const code = 'const { greet } = require("greet"); module.exports = () => require("greet/loud").default("you")';
    assert.equal((await run(code, { packages })).text, '"HELLO YOU"');
    assert.equal(registry.requests.length, asked);
  });

  it("shows what is built: all to administrators, and to others what their family has", async () => {
    const other = await service.issue(CUSTOMER);
    const warmed = await build({ packages: { "@acme/tools": "1" } }, other);
    assert.equal(warmed.status, 200, warmed.text);
    const { lock } = warmed.json() as { lock: { key: string } };
    const keysOf = async (token: string): Promise<string[]> => {
      const list = (await send("GET", "/api/packages", { token })).json() as { packages: { lock: string }[] };
      return list.packages.map((each) => each.lock);
    };
    assert.deepEqual(await keysOf(other), [lock.key]);
    assert.ok((await keysOf(service.admin)).length > 3);
    assertProblem(await send("DELETE", `/api/packages/locks/${lock.key}`), 403, "token_forbidden");
    assert.equal((await service.request("DELETE", `/api/packages/locks/${lock.key}`)).status, 200);
    assert.equal((await keysOf(service.admin)).includes(lock.key), false);
  });

  it("is built without a run only as often as a token family may change things", async () => {
    const other = await service.issue(CUSTOMER);
    const warm = (): Promise<Answer> => {
      return send("POST", "/api/packages/warm", { json: { packages: { "@acme/tools": "1" } }, token: other });
    };
    const statuses: number[] = [];
    for (let count = 0; count < 60; count++) statuses.push((await warm()).status);
    assert.ok(statuses.every((status) => status === 200 || status === 202));
    assertProblem(await warm(), 429, "token_limited");
  });

  it("shows the builds that run and wait: all to administrators, and to others those of their family", async () => {
    const gate = Promise.withResolvers<void>();
    registry.instead.set("/slow", (_, response) => void gate.promise.then(() => response.destroy()));
    const hasty = await service.issue({ ...CUSTOMER, timeout: "100ms" });
    for (const packages of [{ slow: "1" }, { "@acme/tools": "1.0.0" }]) {
      assertProblem(await runOnce("1", { packages }, { token: hasty }), 503, "packages_building");
    }
    const shown = (await buildsOf(hasty)).map(({ state, packages, startedAt }) => [
      state,
      packages,
      startedAt === null,
    ]);
    assert.deepEqual(shown, [
      ["building", { slow: "1" }, false],
      ["waiting", { "@acme/tools": "1.0.0" }, true],
    ]);
    assert.deepEqual(await buildsOf(customer), []);
    assert.deepEqual(await buildsOf(service.admin), await buildsOf(hasty));
    const { stdout } = await caisson("packages", "list");
    assert.match(stdout, /building .*Z +slow@1\nwaiting .*Z +@acme\/tools@1\.0\.0\n/);
    registry.instead.delete("/slow");
    gate.resolve();
    await until(async () => (await buildsOf(service.admin)).length === 0, "the builds have ended");
  });

  it("is refused as a warm-up if the family has its builds, which end when the token is revoked", async () => {
    const gate = Promise.withResolvers<void>();
    registry.instead.set("/slow", (_, response) => void gate.promise.then(() => response.destroy()));
    const hasty = await service.issue({ ...CUSTOMER, timeout: "100ms" });
    for (const range of ["1", "^1", "~1.0", "1.0"]) {
      assertProblem(await runOnce("1", { packages: { slow: range } }, { token: hasty }), 503, "packages_building");
    }
    const full = await send("POST", "/api/packages/warm", { json: { packages: { slow: "*" } }, token: hasty });
    const { detail } = assertProblem(full, 503, "packages_building");
    assert.equal(detail, "the token family has 4 builds of packages under way");
    assert.equal((await buildsOf(service.admin)).length, 4);
    await service.request("DELETE", `/api/tokens/${jtiOf(hasty)}`);
    await until(async () => (await buildsOf(service.admin)).length === 0, "the builds have ended");
    registry.instead.delete("/slow");
    gate.resolve();
  });

  it("is waited for by caisson run, which reports it", async () => {
    const gate = Promise.withResolvers<void>();
    registry.instead.set("/slow", (_, response) => void gate.promise.then(() => response.destroy()));
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-packages-"));
    const file = path.join(folder, "task.js");
    await writeFile(file, 'import { slow } from "npm:slow@1.0.0"; export default () => slow');
    const ends = [
      caisson("run", file, "--container", "waits"),
      caisson("run", file, "--container", "streams", "--stream"),
    ];
    try {
      for (const container of ["waits", "streams"]) {
        const target = `/api/runs?container=${container}`;
        const isAnswered = async (): Promise<boolean> =>
          (await service.request("GET", target)).text.includes('"packages_building"');
        await until(isAnswered, "the service has answered that the packages are being built");
      }
      // The builder asks again after its first request has failed.
      registry.instead.delete("/slow");
      gate.resolve();
      for (const { code, stdout, stderr } of await Promise.all(ends)) {
        assert.deepEqual([code, stdout], [0, "1\n"], stderr);
        assert.match(stderr, /^caisson: the packages are being built; this may take a minute/);
      }
    } finally {
      registry.instead.delete("/slow");
      gate.resolve();
      await Promise.all(ends);
      await rm(folder, { recursive: true });
    }
  });

  it("is used by the command line", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-packages-"));
    const file = path.join(folder, "task.js");
    await writeFile(file, 'import { greet } from "greet"; export default () => greet("you")');
    try {
      assert.equal((await caisson("run", file, "--package", "greet@1")).stdout, '"hello you"\n');
      const deployed = await caisson("tasks", "deploy", "acme", file, "--name", "typed", "--package", "greet@1");
      assert.equal(deployed.code, 0, deployed.stderr);
      assert.match((await caisson("tasks", "show", "acme", "typed")).stdout, /packages +greet@1\./);
      assert.match((await caisson("packages", "add", "left-pad", "tiny@2")).stdout, /left-pad,\s+tiny@2/);
      assert.doesNotMatch((await caisson("packages", "remove", "left-pad", "tiny@2")).stdout, /left-pad/);
      assert.match((await caisson("packages", "warm", "npm:@acme/tools@1")).stdout, /imports +@acme\/tools@1\.0\.0/);
      assert.match((await caisson("packages", "list")).stdout, /code may import +greet, .*greet@1\./s);
      const project = { container: "acme", packages: { greet: "1" } };
      await writeFile(path.join(folder, "caisson.json"), JSON.stringify(project));
      await mkdir(path.join(folder, "tasks"));
      await copyFile(file, path.join(folder, "tasks/project.js"));
      const words = ["run", file, "--port", String(service.port), "--data", home.data];
      assert.equal((await command(words, {}, undefined, undefined, folder)).stdout, '"hello you"\n');
      const released = await caisson("deploy", folder);
      assert.equal(released.code, 0, released.stderr);
      assert.equal(await versionOf("project"), "hello you");
      const capital = await caisson("packages", "add", "Zod@4");
      assert.equal(
        capital.stderr,
        "caisson: npm has names in lower case; did you mean zod? caisson packages remove Zod@4 removes this entry\n",
      );
      assert.equal((await caisson("packages", "remove", "Zod@4")).code, 0);
      const misspelt = await caisson("packages", "add", "lodahs");
      assert.equal(
        misspelt.stderr,
        "caisson: lodahs is not lodash; did you mean lodash? caisson packages remove lodahs removes this entry\n",
      );
      assert.equal((await caisson("packages", "remove", "lodahs")).code, 0);
      const all = await caisson("packages", "add", "all");
      assert.equal(all.code, 2);
      assert.match(all.stderr, /all is no package: did you mean the setting --npm any of the service\?/);
      assert.equal((await caisson("packages", "add", "../x")).code, 2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

it("the metrics have the builds by their outcome, their time, and what is stored", async () => {
  registry.publish("native", "1.0.0", { "binding.gyp": "{}", "index.js": "" });
  await service.request("PUT", "/api/packages/allow/native");
  const earlier = await scrape(service);
  assertProblem(await run("1", { packages: { native: "1" } }), 400, "packages_native");
  const both = { greet: "~1.0.0", "@acme/tools": "~1.0.0" };
  assert.equal((await run("2", { packages: both })).status, 200);
  const later = await scrape(service);
  const grown = (name: string, labels: Record<string, string> = {}): number => {
    const isThere = earlier.series.some((each) => each.name === name && each.labels["outcome"] === labels["outcome"]);
    return later.sum(name, labels) - (isThere ? earlier.sum(name, labels) : 0);
  };
  assert.equal(grown("caisson_package_builds_total", { outcome: "packages_native" }), 1);
  assert.equal(grown("caisson_package_builds_total", { outcome: "built" }), 1);
  assert.equal(grown("caisson_package_build_seconds_count"), 2);
  assert.equal(grown("caisson_package_sets"), 1);
  assert.ok(grown("caisson_package_bytes") > 0);
  assert.equal(later.sum("caisson_package_builds_waiting"), 0);
});

it("what is built runs without the registry, also after a restart", async () => {
  const task = await put("offline", {
    code: 'import { z } from "zod"; export default () => z.number().parse(7)',
    packages: { zod: "4" },
  });
  assert.equal((await send("POST", "/api/run/acme", { body: IMPORT })).text, '"hello you"');
  registry.close();
  await service.stop();
  service = await startService(flags, home);
  assert.equal((await send("POST", "/api/run/acme/offline")).text, "7");
  assert.equal((await send("POST", "/api/run/acme", { body: IMPORT })).text, '"hello you"');
  const read = (await send("GET", "/api/tasks/acme/offline")).json() as TaskAnswer;
  assert.deepEqual(read.lock, task.lock);
  const unknown = await run("1", { packages: { lodash: "4" } });
  assertProblem(unknown, 503, "packages_unavailable");
  // An export of something that is not there is no reason to stop what works.
  assert.equal((await send("POST", "/api/run/acme", { body: IMPORT })).text, '"hello you"');
});
