import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { entriesOf } from "../../src/cli/package-flags.ts";
import { permits } from "../../src/config/values.ts";
import { misspeltPermit } from "../../src/package-names.ts";
import { containerRecord, limitRecord } from "../contract/record.ts";
import { NO_WALL, type Service, shareService } from "../contract/service.ts";
import { whyNoUser } from "../contract/user.ts";
import { command, type Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

/** A user without rights, where the tests are root. */
const NOBODY = 65_534;

let service: Service;
let folder: string;
before(async () => {
  service = await shareService();
  folder = await mkdtemp(path.join(tmpdir(), "caisson-stumbles-"));
  await chmod(folder, 0o755);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** Runs a command for the service of this file. */
function caisson(...args: readonly string[]): Promise<Ended> {
  return hostedCommand([...args, "--data", service.data, "--port", String(service.port)]);
}

async function write(name: string, content: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, content);
  return file;
}

describe("a command with a forgotten or wrong word names its form", () => {
  const rows: readonly [words: string, said: RegExp][] = [
    ["limits show acme", /The form is: caisson limits show container acme/],
    ["limits reset acme", /The form is: caisson limits reset container acme/],
    ["limits list", /The commands are show, set, reset and repair/],
    ["container stop acme", /The commands are list, show, suspend, resume and restart/],
    ["container suspend", /The form is: caisson containers suspend acme/],
    ["token --container acme", /The form is: caisson tokens issue acme/],
    ["token issue --container acme --limit container.minute=-3", /"-3" is not a whole number from 1 to 1000000000/],
    ["token issue acme --minute 5", /unknown option '--minute'; did you mean --limit container\.minute=5\?/],
    ["logs acme --tail 5", /unknown option '--tail'; did you mean --limit\?/],
    ["logs acme --from 1h", /unknown option '--from'; did you mean --since\?/],
    ["run -e 1", /unknown option '-e'; write the code to stdin/],
    ["deploy --container acme", /unknown option '--container'; caisson\.json names the container/],
    ["backup", /The form is: caisson backup --to/],
    ["open", /unknown command 'open'; the web console is at the url of the service/],
    ["npm", /unknown command 'npm'; the commands are run, init, deploy/],
    ["suspend acme", /caisson containers suspend CONTAINER refuses its runs/],
    ["rollback shop a 1", /caisson tasks rollback CONTAINER TASK VERSION/],
    [
      "update",
      /^caisson: unknown command 'update'; caisson deploy puts the changed tasks of a folder into its container$/m,
    ],
    ["upgrade", /'upgrade'; an upgrade is: caisson backup, replace the program, and restart the service$/m],
    [
      "remove hook",
      /'remove'; caisson tasks delete deletes a task, caisson tokens revoke revokes a token, and caisson/,
    ],
    ["rm hook", /'rm'; caisson tasks delete deletes a task, .* and caisson packages remove forbids a package$/m],
    ["delete hook", /'delete'; caisson tasks delete deletes a task/],
    ["add zod", /'add'; caisson packages add NAME permits a package/],
    ["ls", /'ls'; caisson tasks list CONTAINER/],
    ["ps", /'ps'; caisson runs list --status running/],
    ["exec task.js", /'exec'; caisson run task\.ts runs code$/m],
    ["eval 1", /'eval'; write the code to stdin/],
    ["new", /'new'; caisson init writes a project/],
    ["publish", /'publish'; caisson deploy deploys the tasks of a folder$/m],
    ["push", /'push'; caisson deploy deploys the tasks of a folder$/m],
    ["tasks ls", /'ls'; did you mean list\?$/m],
    ["runs tail acme", /'tail'; caisson logs CONTAINER -f follows the console and the errors$/m],
    ["serve 7391", /too many arguments .*; did you mean --port 7391\?/],
    ["rnu", /Did you mean run\?/],
    ["run hello", /there is no file hello in \/.*; did you mean --task hello\?/],
    ["run acme/hook", /there is no file acme\/hook in \/.*; did you mean --task hook --container acme\?/],
    [
      "run test/cli/command",
      /there is no file test\/cli\/command in \/.*; did you mean caisson run test\/cli\/command\.ts\?$/m,
    ],
    [
      'run README.md --json {"name":"bob"}',
      /run takes one file; the input goes to --input, and --json takes no value: caisson run README\.md --input '\{"name": "you"\}'$/m,
    ],
    [
      "run README.md --input package.json",
      /--input is not JSON: .*; did you mean --input @package\.json\? With @, the input is the content of the file$/m,
    ],
    ["run test/nohook", /there is no file test\/nohook in \//],
    ["run nofile.ts", /there is no file nofile\.ts in \//],
    ["run REDAME.md", /there is no file REDAME\.md in \/.*; did you mean README\.md\?/],
    ["run zz.json", /there is no file zz\.json in \/.*; the folder has .*package\.json/],
    ["run nofolder/zz.ts", /there is no file nofolder\/zz\.ts in .*; there is no folder nofolder either/],
    ["run nofile.ts --data {}", /--data is the data folder of the service; did you mean --input\?/],
    ["run README.md --input {name:you}", /--input is not JSON: .*; JSON has names and texts in double quotes, such as/],
    [
      "mcp --url http://127.0.0.1:9/mcp/acme",
      /--url is the address of the service, .*: http:\/\/127\.0\.0\.1:9; .* --container acme/,
    ],
    ["stop", /Ctrl-C, or SIGTERM/],
    ["tail acme", /unknown command 'tail'; caisson logs CONTAINER -f/],
    ["list", /unknown command 'list'; caisson tasks list CONTAINER/],
    ["invoke hook", /caisson run --task NAME/],
    ["-v", /unknown option '-v'; did you mean --version\?/],
    ["containers create acme", /needs no creation/],
    ["containers stop acme", /did you mean suspend\?/],
    ["tokens delete x", /did you mean revoke\?/],
    ["tokens crate acme", /did you mean issue\?/],
    ["runs acme", /unknown command 'acme'; for a container: caisson runs list acme/],
    [
      "run README.md --token abc",
      /unknown option '--token'; the token is in the variable CAISSON_TOKEN, or caisson login/,
    ],
    ["packages install zod", /did you mean add\? It permits a package/],
    ["packages rm zod", /did you mean remove\?/],
    ["run hook.ts --npm zod", /unknown option '--npm'; did you mean --package\?/],
    ["deploy --package zod", /unknown option '--package'; caisson\.json names the packages/],
    ["tasks rm acme hook", /did you mean delete\?/],
    ["tasks list", /missing required argument 'container'; the form is: caisson tasks list acme/],
    ["tasks deploy README.md", /missing required argument 'file'; the form is: caisson tasks deploy acme hook\.ts/],
    [
      "tasks deploy acme README.md --limit minute=5",
      /unknown option '--limit'; caisson tasks deploy --help lists the flags/,
    ],
    ["containers list acme", /did you mean caisson containers show acme\?/],
    ["tokens list acme", /did you mean --container acme\?/],
    ["tasks list acme hook", /did you mean caisson tasks show acme hook\?/],
    ["settings set wall-limit 5s", /settings are set when the service starts: with a flag of caisson serve/],
    ["deploy hook.ts acme", /did you mean caisson tasks deploy acme hook\.ts\?/],
    ["deploy acme folder", /deploy takes one folder, and its caisson\.json names the container/],
    ["deploy hook.ts", /hook\.ts is a file; one file: caisson tasks deploy CONTAINER hook\.ts/],
    ["deploy README.md", /deploy takes a folder with caisson\.json, and README\.md is a file/],
    ["deploy nowhere", /there is no nowhere\/caisson\.json; caisson init makes one, and it names the container/],
    [
      "tasks deploy hook.ts acme",
      /the container comes before the file; did you mean caisson tasks deploy acme hook\.ts\?/,
    ],
    ["tokens issue acme --expires soon", /--expires must be a duration such as 30s, 5m, 12h or 7d, not "soon"/],
    [
      "tasks deploy acme README.md --secret KEY=x",
      /--secret takes the name of an environment variable, .*: KEY=\.\.\. caisson tasks deploy acme README\.md --secret KEY$/m,
    ],
    ["containers set acme --limit minute=60", /unknown command 'set'; caisson limits set container NAME minute=60/],
    ["serve --cors *", /unknown option '--cors'; pages of every origin may call a public task, and need no flag$/m],
    ["--port 8330", /unknown option '--port'; did you mean caisson serve --port\?$/m],
    [
      "serve --npm-allow --port 8330",
      /too many arguments .* 8330; --npm-allow needs a value, and took --port for it$/m,
    ],
    ["serve --data-dir x", /unknown option '--data-dir'; did you mean --data\?/],
    ["serve -p 7391", /unknown option '-p'; did you mean --port\?/],
    ["serve --timeout 5s", /unknown option '--timeout'; did you mean --wall-limit\?/],
    ["serve --memory 64MiB", /unknown option '--memory'; did you mean --memory-limit\?/],
    ["serve --verbose", /unknown option '--verbose'; did you mean --log-level\?/],
    ["serve --container-limit minute=60,day=9", /such as "minute=60"; give the flag once for each window; a file has/],
    ["usage acme", /too many arguments .*; caisson usage --by container counts the runs of each container/],
    ["logs acme hook", /too many arguments .*; .*: caisson runs list acme --task hook/],
    ["run README.md --container", /'--container <name>' argument missing; the form is: .* --container <name>/],
    ["run README.md --code 1", /unknown option '--code'; write the code to stdin: echo 'return 1'/],
    ["run acme hook", /for a deployed task, write: caisson run --task hook --container acme/],
    ["schedule", /unknown command 'schedule'; the service has no schedule: let cron call/],
    ["tasks get acme hook", /unknown command 'get'; did you mean show\?/],
    ["tasks history acme hook", /did you mean versions\?/],
    ["limits get container acme", /unknown command 'get'; did you mean show\?/],
    ["limits delete container acme", /did you mean reset\? .* --none removes all limits/],
    ["containers label acme team=a", /PATCH \/api\/containers\/\{container\} sets labels/],
    ["tasks deploy acme README.md --name my(hook", /argument .my\(hook. is invalid\. A name has letters, digits/],
    ["whoami --url htp://127.0.0.1", /is not a URL of https or http, such as https:\/\/caisson\.example/],
    ["serve --run-timeout 5s", /did you mean --wall-limit\?/],
    ["serve --https", /unknown option '--https'; did you mean --tls-cert\?/],
    ["serve --limit minute=60", /did you mean --container-limit minute=60\?/],
    ["serve --admin-token abc", /writes its administrative token to the file admin\.token/],
    ["run README.md --payload {}", /unknown option '--payload'; did you mean --input\?/],
    ["tokens issue acme --permissions run", /did you mean --can\?/],
    ["serve --host localhost:7391", /--host localhost:7391 has a port; write --host localhost --port 7391/],
    ["tokens issue acme --secret NO_SUCH_VARIABLE", /set the variable and export it, or use --secret-file KEY=PATH/],
    ["limits set token x minute=5", /set when it is issued/],
    ["token issue acme --ttl 1h", /did you mean --expires\?/],
    ["run README.md --env A=1", /params and secrets of its task or token/],
    ["run README.md demo", /run takes one file; .* caisson run README\.md --container demo/],
    ["run demo README.md", /run takes one file; .* caisson run README\.md --container demo/],
    ["run README.md --json=yes", /--json takes no value/],
    ["run test", /test is a folder; .*caisson deploy test/],
    ["run 6*7", /there is no file 6\*7 in .*; if this is code, write it to stdin/],
    ["run README.md --task hook", /name a file or a deployed task, and not both: README\.md and --task hook/],
    ["login http://127.0.0.1:9", /too many arguments .*; did you mean --url http:\/\/127\.0\.0\.1:9\?/],
    ["health --url http://127.0.0.1:9/healthz", /leave \/healthz out, as in http:\/\/127\.0\.0\.1:9$/m],
    ["whoami --url http://127.0.0.1:9/api", /leave \/api out: --url http:\/\/127\.0\.0\.1:9/],
    ["serve --config nofile.json", /--config nofile\.json cannot be read: there is no such file in \//],
    ["serve --config README.md", /cannot be read: [^]*; JSON has names and texts in double quotes/],
    ["whoami --url 127.0.0.1:9", /is not a URL of https or http; did you mean http:\/\/127\.0\.0\.1:9\?/],
  ];
  for (const [words, said] of rows) {
    it(words, async () => {
      // A service that starts although it should not needs a process that can be ended.
      const { code, stderr } = await (words.startsWith("serve") ? command : hostedCommand)(words.split(" "));
      assert.equal(code, 2);
      assert.match(stderr, said);
    });
  }
});

describe("a command that the service cannot fulfil names what to do", () => {
  const unknown = "9b2f7c1e-4a1d-4f6e-8a55-1f0f6d3e5a55";
  const rows: readonly [words: string, exitCode: number, said: RegExp][] = [
    ["limits show token nope", 2, /"nope" is not the jti of a token/],
    ["usage --since yesterday", 2, /--since yesterday is not a date, a time, or a duration before now, such as .* 7d/],
    ["usage --since 7", 2, /--since 7 is not a date, a time, or a duration .*; did you mean 7d\?/],
    ["usage --since 7d --until 9d", 2, /--since 7d is not before --until 9d/],
    ["limits set container acme minute=0", 2, /from 1 to 1000000000; --none removes all limits/],
    [`tokens revoke ${unknown}`, 0, /no token with this jti is stored here/],
    [`tokens show ${unknown}`, 2, /caisson tokens list lists the stored tokens/],
    ["tasks show acme nope", 2, /^caisson: .*caisson tasks list /m],
    ["run --task nope", 2, /the container demo has no task with this name; --container names another container/],
    ["run README.md --timeout 5", 2, /timeout must be a duration such as 500ms or 5s[^]*$/],
    ["tasks rollback acme nope v9", 2, /not_found/],
    ["runs show acme e506c653c0d4-2", 2, /caisson runs list CONTAINER lists the runs/],
    ["logs acme --status failed", 0, /no run of acme on record is selected[^]*threw, .*[^]*--failed selects all/],
    ["logs unused", 0, /no run of unused is on record/],
  ];
  for (const [words, exitCode, said] of rows) {
    it(words, async () => {
      const { code, stderr } = await caisson(...words.split(" "));
      assert.equal(code, exitCode, stderr);
      assert.match(stderr, said);
    });
  }
});

describe("the error of a value that is not a name, token or certificate names it", () => {
  it("for a profile to remove, which a login would not help", async () => {
    const { code, stderr } = await hostedCommand(["logout", "--profile", "nope"], { XDG_CONFIG_HOME: folder });
    assert.equal(code, 2);
    assert.match(stderr, /there is no profile "nope"; there are no profiles; nothing was removed$/m);
    assert.doesNotMatch(stderr, /caisson login/);
  });

  it("for a token with its scheme", async () => {
    const { code, stderr } = await hostedCommand(["whoami", "--url", service.url], { CAISSON_TOKEN: "Bearer abc" });
    assert.equal(code, 2);
    assert.match(stderr, /CAISSON_TOKEN: leave Bearer out/);
  });

  it("for a variable with the path of the token or the answer that issued it, instead of the token", async () => {
    const rows: readonly [token: string, said: RegExp][] = [
      ["data/admin.token", /CAISSON_TOKEN: .*: it is a path; write "\$\(cat PATH\)"$/m],
      [await write("my token", "x"), /CAISSON_TOKEN: .*: it is a path; write "\$\(cat PATH\)"$/m],
      ['{"token":"eyJ.a.b","jti":"1"}', /CAISSON_TOKEN: .*: it is JSON; give the member token of the answer$/m],
    ];
    for (const [token, said] of rows) {
      const { code, stderr } = await hostedCommand(["whoami", "--url", service.url], { CAISSON_TOKEN: token });
      assert.equal(code, 2);
      assert.match(stderr, said);
    }
  });

  it("for a file that code imports and that is not there", async () => {
    const { stderr } = await caisson(
      "run",
      await write("imports.js", "import x from './nothere.js';\nexport default () => x"),
    );
    assert.match(stderr, /send the files that the code imports with \.\/ and this file does not exist/);
    assert.doesNotMatch(stderr, /"modules"/);
  });

  it("for imports whose files have another ending, or are outside of the folder", async () => {
    await write("near.ts", "export const n = 1");
    await mkdir(path.join(folder, "sub"), { recursive: true });
    await write("sub/index.ts", "export const n = 1");
    const rows: readonly [file: string, code: string, said: RegExp][] = [
      ["ending.ts", 'import { n } from "./near";\nexport default () => n;', /but "\.\/near\.ts" is one: write it so\./],
      ["replaced.ts", 'import { n } from "./near.js";\nexport default () => n;', /but "\.\/near\.ts" is one/],
      ["required.js", 'const { n } = require("./sub");\nreturn n', /but "\.\/sub\/index\.ts" is one/],
      [
        "sub/above.ts",
        'import { n } from "../near.ts";\nexport default () => n;',
        /The file is outside of the folder of the code/,
      ],
      [
        "sub/bare.ts",
        'import { n } from "../near";\nexport default () => n;',
        /but "\.\.\/near\.ts" is one\. It is outside of the folder of the code\..* with --bundle/,
      ],
    ];
    for (const [name, code, said] of rows) {
      const { code: exitCode, stderr } = await caisson("run", await write(name, code));
      assert.equal(exitCode, 2, name);
      assert.match(stderr, said);
      assert.doesNotMatch(stderr, /does not exist/);
    }
    const deployed = await caisson("tasks", "deploy", "acme", path.join(folder, "ending.ts"));
    assert.match(deployed.stderr, /but "\.\/near\.ts" is one: write it so\./);
  });

  it("for a package, with the flag and the member of caisson.json", async () => {
    const { stderr } = await caisson("run", await write("packed.js", 'import z from "zod";\nexport default () => z'));
    assert.match(stderr, /Add --package zod to caisson run, or "packages": \{"zod": "\*"\} to caisson\.json/);
  });

  it("for a container with a space", async () => {
    const { code, stderr } = await caisson("run", await write("one.ts", "1"), "--container", "my box");
    assert.equal(code, 2);
    assert.match(stderr, /'my box' is invalid\. A name has letters, digits and _ \. @ -, and no spaces/);
  });

  it("for a schedule in caisson.json", async () => {
    const project = path.join(folder, "scheduled");
    await mkdir(path.join(project, "tasks"), { recursive: true });
    await writeFile(path.join(project, "tasks", "a.js"), "1");
    await writeFile(path.join(project, "caisson.json"), '{"container": "acme", "tasks": {"a": {"cron": "* * * * *"}}}');
    const { code, stderr } = await caisson("deploy", project);
    assert.equal(code, 2);
    assert.match(stderr, /tasks\.a\.cron is not a known member, because the service has no schedule/);
  });

  it("for members of a task that caisson.json cannot have", async () => {
    const project = path.join(folder, "tools");
    await mkdir(path.join(project, "tasks"), { recursive: true });
    await writeFile(path.join(project, "tasks", "a.js"), "1");
    const content = { container: "acme", tasks: { a: { tool: true, input: { type: "object" }, typescript: true } } };
    await writeFile(path.join(project, "caisson.json"), JSON.stringify(content));
    const { code, stderr } = await caisson("deploy", project);
    assert.equal(code, 2);
    for (const name of ["tool", "input"])
      assert.match(stderr, new RegExp(`tasks\\.a\\.${name} is not a known member; PUT /api/tasks/.* sets it`));
    assert.match(stderr, /tasks\.a\.typescript is not a known member; the ending of the file decides it/);
  });

  it("for a project without the folder of the tasks", async () => {
    const project = path.join(folder, "bare");
    await mkdir(project, { recursive: true });
    await writeFile(path.join(project, "caisson.json"), '{"container": "acme"}');
    const { code, stderr } = await caisson("deploy", project);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /there is no folder .*bare\/tasks: each task is a \.ts or \.js file in it, such as .*hello\.ts/,
    );
    assert.doesNotMatch(stderr, /ENOENT/);
  });

  it("for a variable, by each command", async () => {
    for (const [line, variable, meant] of [
      [["doctor", "--isolation", "none"], "CAISSON_WAL_LIMIT", "CAISSON_WALL_LIMIT"],
      [["whoami", "--url", "http://127.0.0.1:1"], "CAISSON_TOKN", "CAISSON_TOKEN"],
    ] as const) {
      const { stderr } = await command([...line], { [variable]: "1s" });
      const first = `caisson: the variable ${variable} is not a setting; did you mean ${meant}?\n`;
      assert.ok(stderr.startsWith(first), stderr);
    }
  });
});

describe("limits set", () => {
  it("keeps the limits of the container if the limits are forgotten, and removes them with --none", async () => {
    assert.equal((await caisson("limits", "set", "container", "kept", "minute=60")).code, 0);
    const forgotten = await caisson("limits", "set", "container", "kept");
    assert.equal(forgotten.code, 2);
    assert.match(forgotten.stderr, /name at least one limit, such as minute=60; --none removes/);
    assert.deepEqual(await containerRecord(service, "kept"), limitRecord({ minute: 60 }));
    assert.equal((await caisson("limits", "set", "container", "kept", "hour=1", "--none")).code, 2);
    assert.equal((await caisson("limits", "set", "container", "kept", "--none")).code, 0);
    assert.deepEqual(await containerRecord(service, "kept"), limitRecord({}));
  });
});

describe("run", () => {
  it("names the command that raises the limit of a container", async () => {
    assert.equal((await caisson("limits", "set", "container", "full", "month=1")).code, 0);
    const words = ["run", await write("full.js", "1"), "--container", "full"];
    assert.equal((await caisson(...words)).code, 0);
    const { code, stderr } = await caisson(...words);
    assert.equal(code, 3);
    assert.match(stderr, /container_limited: [^]*with caisson limits set container CONTAINER/);
  });

  it("names the file: without code, and in the frames of an error", async () => {
    const empty = await caisson("run", await write("empty.js", "\n"));
    assert.equal(empty.code, 2);
    assert.match(empty.stderr, /empty\.js is empty; it must contain code/);
    const file = await write("thrower.js", "// a comment\nthrow new Error('x')");
    const thrown = await caisson("run", file);
    assert.equal(thrown.code, 1);
    assert.ok(thrown.stderr.includes(`${file}:2:`), thrown.stderr);
    assert.doesNotMatch(thrown.stderr, /task\.js/);
  });

  it("leaves out the stack of esbuild, and names npm install", async () => {
    const esbuild = await write(
      "esbuild",
      "#!/bin/sh\necho 'X [ERROR] Could not resolve \"left-pad\"' >&2\necho 'node:internal/errors:983' >&2\necho '    at x' >&2\nexit 1\n",
    );
    await chmod(esbuild, 0o755);
    const { code, stderr } = await caisson("run", "--esbuild", esbuild, await write("l.ts", "import 'left-pad'"));
    assert.equal(code, 2);
    assert.match(stderr, /Could not resolve "left-pad"[^]*was not bundled: .*npm install/);
    assert.doesNotMatch(stderr, /node:internal|at x/);
  });

  const unresolved: [name: string, fix: RegExp][] = [
    [
      "jsr:@std/assert",
      /with 1; esbuild resolves no jsr: import: npx jsr add @std\/assert installs the package, and then write import "@std\/assert" without jsr:$/m,
    ],
    [
      "npm:zod",
      /with 1; esbuild resolves no npm: import: npm install zod, and write the name without npm:, or run without --bundle$/m,
    ],
    ["bun:sqlite", /with 1; the code runs in Node, which has no module of Bun: use the node: modules$/m],
  ];
  for (const [name, fix] of unresolved) {
    it(`names what to do about an import that esbuild does not resolve: ${name}`, async () => {
      const esbuild = await write(
        "resolves-none",
        `#!/bin/sh\necho 'X [ERROR] Could not resolve "${name}"' >&2\nexit 1\n`,
      );
      await chmod(esbuild, 0o755);
      const { code, stderr } = await caisson("run", "--esbuild", esbuild, await write("r.ts", `import "${name}"`));
      assert.equal(code, 2);
      assert.match(stderr, fix);
    });
  }

  it("reports an administrative token that is missing", async () => {
    const { stderr } = await hostedCommand(["run", await write("one.js", "1"), "--data", path.join(folder, "nowhere")]);
    assert.match(stderr, /no administrative token: .*\(the file does not exist\)/);
  });

  it("names --url for a stored login, which does not apply with --port", async () => {
    const { stderr } = await hostedCommand(
      ["run", await write("three.js", "1"), "--port", "8599"],
      {},
      undefined,
      folder,
    );
    assert.match(
      stderr,
      /set --data, .*, or for the token of caisson login, write --url http:\/\/127\.0\.0\.1:8599 only/,
    );
  });

  it("reports an administrative token that may not be read", { skip: whyNoUser() }, async () => {
    const words = ["run", await write("two.js", "1"), "--data", service.data];
    const { stderr } = await command(words, {}, NOBODY);
    assert.match(stderr, /no administrative token: .*\(this user may not read it\)/);
  });
});

/** Starts a service that must end. A start that hangs fails the test by its time. */
async function start(args: readonly string[], said: RegExp, uid?: number): Promise<void> {
  const { code, stderr } = await command(["serve", ...NO_WALL, "--port", "0", ...args], {}, uid);
  assert.notEqual(code, 0);
  assert.match(stderr, said);
}

describe("a start that fails names the fix", () => {
  it("for a data folder that is a file, lies below a file, or cannot be created", { timeout: 60_000 }, async () => {
    const file = await write("a-file", "");
    await start(["--data", file], /^caisson: --data: .*a-file is not a folder; move it away, or give another --data$/m);
    await start(["--data", path.join(file, "below")], /--data: .*a-file.*; .*give another --data/);
    await start(
      ["--data", "/proc/caisson/data"],
      /--data: the data folder \/proc\/caisson\/data does not exist, and neither does \/proc\/caisson; /,
    );
    await start(["--data", "/proc/caisson"], /--data: the data folder \/proc\/caisson does not exist, and /);
  });

  it("for a data folder of another user", { skip: whyNoUser(), timeout: 60_000 }, async () => {
    const closed = path.join(folder, "closed");
    await mkdir(closed, { mode: 0o755 });
    await start(
      ["--data", path.join(closed, "data")],
      /this user may not create it in .*closed; create it for/,
      NOBODY,
    );
    await start(["--data", closed], /this user may not write to .*closed; make the service's user its owner/, NOBODY);
  });

  it("for files of settings that cannot be read", { timeout: 60_000 }, async () => {
    const data = ["--data", path.join(folder, "files")];
    await start(
      [...data, "--metrics-token", "/nope"],
      /--metrics-token: \/nope: there is no such file; create it, such as/,
    );
    const tls = ["--tls-key", "/nope.key", "--tls-cert", "/nope.crt"];
    await start(
      [...data, ...tls],
      /--tls-(?:cert|key): \/nope\.(?:crt|key): there is no such file; name the right file/,
    );
    const text = await write("no-certificate", "x");
    await start(
      [...data, "--tls-key", text, "--tls-cert", text],
      /--tls-cert and --tls-key cannot be used \(.*\); --tls-cert must be a certificate chain in PEM/,
    );
    await start(
      [...data, "--redis", "redis://127.0.0.1:1"],
      /127\.0\.0\.1:1 cannot be used: .*; start it, or correct --redis/,
    );
    await start([...data, "--keys", "/nope.json"], /for a file of --keys run: caisson keys make --keys \/nope\.json/);
  });

  it("for keys of --config that are misspelled, and for a limit of another form", async () => {
    const config = await write("c.json", JSON.stringify({ "wall-limt": "1s", PORT: 1, poool: 1, zzzzzz: 1 }));
    const { code, stderr } = await hostedCommand(["serve", "--config", config]);
    assert.equal(code, 2);
    assert.match(stderr, /"wall-limt", which is not a setting; did you mean wallLimit\?/);
    assert.match(stderr, /"PORT", which is not a setting; did you mean port\?/);
    assert.match(stderr, /"poool", which is not a setting; did you mean pool\?/);
    assert.match(stderr, /"zzzzzz", which is not a setting$/m);
    const limit = await write("l.json", JSON.stringify({ containerLimit: { minute: 3 } }));
    const wrong = await hostedCommand(["serve", "--config", limit]);
    assert.match(
      wrong.stderr,
      /containerLimit in the file: "\{\\"minute\\":3\}" is not window=runs, .*\["minute=60"\]/,
    );
  });

  it("for flags that npm took for itself", async () => {
    const taken = { npm_lifecycle_event: "start", npm_config_port: "true", npm_config_auth_limit: "minute=5" };
    const { code, stderr } = await hostedCommand(["serve", "17460"], taken);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /npm has taken --port, --auth-limit for itself; npm needs -- before the flags: npm start -- --port/,
    );
    const letters = { npm_lifecycle_event: "caisson", npm_config_force: "true", npm_config_long: "true" };
    const read = await hostedCommand(["run", "x.js"], letters);
    assert.match(
      read.stderr,
      /npm has taken flags for itself, and has read a letter of one as --force; npm needs -- before/,
    );
    const help = await hostedCommand(["--version"], { npm_lifecycle_event: "test", npm_config_port: "true" });
    assert.equal(help.code, 0);
  });

  it("for a port that npm start has before its --", async () => {
    const { stderr } = await command(["serve", "7391"], { npm_lifecycle_event: "start" });
    assert.match(stderr, /too many arguments .* 7391; did you mean npm start -- --port 7391\?$/m);
  });

  it("for the variable PORT of other services", async () => {
    const words = ["serve", "--data", "/dev/null/none"];
    const fix = /^caisson: the variable PORT is not read; for this port, set CAISSON_PORT=7391, or write --port 7391$/m;
    assert.match((await command(words, { PORT: "7391" })).stderr, fix);
    assert.doesNotMatch((await command([...words, "--port", "7392"], { PORT: "7391" })).stderr, /variable PORT/);
  });

  it("for a variable that is misspelled", async () => {
    const { stderr } = await command(["serve", "--data", "/dev/null/none"], { CAISSON_PROT: "1" });
    assert.match(stderr, /the variable CAISSON_PROT is not a setting; did you mean CAISSON_PORT\?/);
  });
});

describe("a list of packages", () => {
  it("names the form of a version, and the comma", () => {
    assert.throws(() => entriesOf(["lodash", "4"]), /"4" is a version; did you mean lodash@4\?/);
    assert.deepEqual(entriesOf(["lodash@4", "zod,@acme/*"]), ["lodash@4", "zod", "@acme/*"]);
    assert.throws(() => permits(["lodash zod"]), /"lodash zod" is no package: .*; write a comma between two packages$/);
  });

  it("names the policy that an entry means", () => {
    assert.throws(
      () => permits(["zod", "all"]),
      /^TypeError: "all" is no package: did you mean --npm any\? all@\* is the package of this name$/,
    );
    assert.throws(() => permits(["*"]), /"\*" is no package: did you mean --npm any\?$/);
    assert.deepEqual(permits(["all@*", "async"]), ["all@*", "async"]);
  });

  it("asks about a name that probably is a misspelling of a popular package", () => {
    assert.equal(misspeltPermit("lodahs@4"), "lodahs is not lodash; did you mean lodash?");
    assert.equal(misspeltPermit("Zod@4"), "npm has names in lower case; did you mean zod?");
    for (const right of ["lodash@4", "zod", "@lodahs/*", "left-pad"]) assert.equal(misspeltPermit(right), null, right);
  });
});
