import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { TestRegistry } from "../builder/test-registry.ts";
import { EXAMPLE_PAGES } from "../client/examples.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { isLong } from "../long.ts";
import { freePort } from "../ports.ts";
import { startRedis } from "../redis/server.ts";
import { drawn } from "../seeded.ts";
import { startModel } from "./model.ts";
import { type Block, blocksOf, pages } from "./page-blocks.ts";
import { expected, outputsOf, scriptOf, type Step, stepsOf } from "./page-script.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const TIMEOUT_MS = 120_000;
/** Starts the service of a page that does not start one. */
const SERVE = "scripts/node dist/main.js serve";
const SHELL: ReadonlySet<string> = new Set(["sh", "console"]);
const CODE: ReadonlySet<string> = new Set(["js", "ts"]);
/** What a page names that no test machine has, and the same for a test. */
const REDIS = "redis://:password@10.0.0.5:6379";
const CONFIGURATION = "/etc/caisson";
/** The timeout of a task on a page. The machine of the tests is busy with other tests, and takes longer. */
const TIMEOUT = /(?<=[?&]timeout=)\d+s\b/g;
const LONG_TIMEOUT = "30s";
/**
 * Commands of pages that need a service of their own: they start one, or show or change the whole service. The other pages share
 * a service, and have services of their own in a long run.
 */
const NEEDS_OWN_SERVICE = /npm start|\b(?:keys|backup|usage)\b/;
/** A program of other people that the pages show; its test double prints a secret. */
const PASS = "#!/bin/sh\necho secret-of-a-password-manager\n";
/** The command line as the package installs it. */
const CAISSON = `#!/bin/sh\nexec ${ROOT}/scripts/node ${ROOT}/dist/main.js "$@"\n`;

/** Sends a run with packages again while they are built, as the pages say: a slow machine builds for longer than a run waits. */
const CURL = `#!/bin/sh
PATH=\${PATH#*:}
case "$*" in *'"packages"'*) ;; *) exec curl "$@" ;; esac
for attempt in 1 2 3 4 5 6; do
  answer=$(curl "$@")
  case "$answer" in *'"code":"packages_building"'*) sleep 3 ;; *) break ;; esac
done
echo "$answer"
`;

/**
 * The pages of which the first command of each kind starts with npm itself. For the others npm would take most of the time, so
 * its double stands in.
 */
const WITH_NPM: ReadonlySet<string> = new Set(["README.md", "docs/getting-started.md"]);
const NPM = `#!/bin/sh
kind=$(echo "$1$3" | tr -dc a-z)
if [ -n "$REAL_NPM" ] && mkdir "$HOME/used-$kind" 2> /dev/null; then exec "$REAL_NPM" "$@"; fi
case "$*" in
  "run -s caisson -- "*) shift 4; exec caisson "$@" ;;
  "start -- "*) shift 2; exec caisson serve "$@" ;;
  start) exec caisson serve ;;
esac
echo "npm $* is not known here" >&2
exit 1
`;

const all = pages().map((page) => ({ page, blocks: blocksOf(page).filter(({ coveredBy }) => coveredBy === null) }));

describe("the blocks of the pages", () => {
  it("name existing tests where they cannot run here", () => {
    const named = pages().flatMap((page) => blocksOf(page).map(({ coveredBy }) => coveredBy ?? "README.md"));
    assert.deepEqual(
      named.filter((file) => !existsSync(path.join(ROOT, file))),
      [],
    );
  });

  it("are JSON where they say so", () => {
    for (const { text } of all.flatMap(({ blocks }) => blocks.filter(({ language }) => language === "json"))) {
      JSON.parse(text);
    }
  });

  it("are all tested in one of these ways", () => {
    const known = new Set([...SHELL, ...CODE, "json"]);
    const others = all.flatMap(({ page, blocks }) =>
      blocks.filter(({ language }) => !known.has(language)).map(({ language }) => `${page}: ${language}`),
    );
    assert.deepEqual(others, []);
  });
});

let home: Home;
let shared: Service;
let registry: TestRegistry;
before(async () => {
  home = await makeHome();
  // No test asks the registry of the world.
  registry = await TestRegistry.open();
  registry.publishInstalled("zod");
  const npm = ["--npm-registry", registry.url.href, "--npm-min-age", "0s"];
  shared = await startService([...NO_WALL, ...npm, "--block-limit", "20s"], home);
});
after(async () => {
  registry.close();
  await leave(shared, home);
});

const withCommands = all
  .map(({ page, blocks }) => ({
    page,
    usable: blocks.filter(({ language }) => SHELL.has(language) || (CODE.has(language) && !hasExamples(page))),
  }))
  .filter(({ usable }) => usable.length > 0);
const others = withCommands.filter(({ page }) => !WITH_NPM.has(page));
const selected = new Set(drawn("pages with commands", others, Math.ceil(others.length / 5)));
for (const each of withCommands) {
  const { page, usable } = each;
  if (WITH_NPM.has(page) || selected.has(each))
    it(`the commands of ${page} do what the page promises`, () => checkPage(usable, WITH_NPM.has(page)));
}

/** Whether the code of a page is tested by the examples of the client. */
function hasExamples(page: string): boolean {
  return EXAMPLE_PAGES.includes(page);
}

async function checkPage(blocks: readonly Block[], withNpm: boolean): Promise<void> {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-documents-"));
  const steps = (await Promise.all(blocks.map((block, at) => prepare(folder.path, block, at)))).flat();
  const text = steps.map(({ command }) => command).join("\n");
  const isShared = !isLong && !NEEDS_OWN_SERVICE.test(text);
  await fill(folder.path, { pass: PASS, caisson: CAISSON, npm: NPM, curl: CURL }, isShared ? shared.data : null);
  const port = isShared ? shared.port : await freePort();
  await using redis = text.includes(REDIS) ? await startRedis() : null;
  await redis?.client.config("SET", "requirepass", "password");
  await using model = text.includes("agent.mjs") ? await startModel() : null;
  const here = (words: string): string =>
    words
      .replaceAll("127.0.0.1:7070", `127.0.0.1:${port}`)
      .replaceAll(TIMEOUT, LONG_TIMEOUT)
      .replaceAll(CONFIGURATION, path.join(folder.path, "etc"))
      .replaceAll(REDIS, `redis://:password@127.0.0.1:${redis?.port}`);

  const environment = {
    ...process.env,
    PATH: `${path.join(folder.path, "programs")}:${process.env["PATH"]}`,
    HOME: folder.path,
    XDG_CONFIG_HOME: path.join(folder.path, "config"),
    CAISSON_DATA: path.join(folder.path, "data"),
    CAISSON_PORT: String(port),
    CAISSON_POOL: "1",
    // The first run of a guest compiles for seconds on a busy machine.
    CAISSON_BLOCK_LIMIT: "20s",
    CAISSON_NPM_REGISTRY: registry.url.href,
    CAISSON_NPM_MIN_AGE: "0s",
    ...(withNpm ? { REAL_NPM: realNpm() } : {}),
    ...(model === null ? {} : { MODEL_URL: model.url, MODEL: "of-this-test" }),
    // The pages with npm start a service as it is by default. No other page depends on it.
    SERVICE_ISOLATION: withNpm ? "auto" : "none",
  };
  const outputs = await runScript(folder.path, here(scriptOf(steps, isShared ? null : SERVE)), environment);
  for (const [at, { command, answer }] of steps.entries()) {
    // A slow machine builds packages for longer than a run waits.
    const printed = outputs[at]!.replaceAll(/^caisson: the packages are being built;.*\n/gm, "");
    if (answer === null) assert.doesNotMatch(printed, /"type":"\/errors#/, `${command}\nprinted ${printed}`);
    else assert.match(printed.trim(), expected(here(answer)), `${command}\nprinted ${printed}`);
  }
}

/** @returns the output of each command. Fails with what the script printed last if a command fails. */
async function runScript(cwd: string, script: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile("sh", ["-c", script], { cwd, env, timeout: TIMEOUT_MS }, (error, printed, warned) =>
      resolve({ code: error?.code, stdout: printed, stderr: warned }),
    );
  });
  const outputs = outputsOf(stdout);
  assert.equal(code, undefined, `command ${outputs.length} failed: ${outputs.at(-1)}\n${stderr}`);
  return outputs;
}

/** Writes a block that is a file, and returns the commands of a block. Code without a file must be valid as a task. */
async function prepare(folder: string, block: Block, at: number): Promise<Step[]> {
  if (block.file !== null) {
    const file = path.join(folder, block.file);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, block.text);
  }
  if (SHELL.has(block.language)) return stepsOf(block);
  if (block.file !== null) return [];
  const name = `block-${at}.${block.language}`;
  await writeFile(path.join(folder, name), block.text);
  const type = block.language === "ts" ? "typescript" : "javascript";
  const command = `curl -sS -X PUT -H "Authorization: Bearer $(cat data/admin.token)" -H "Content-Type: application/${type}" \
    --data-binary @${name} http://127.0.0.1:7070/api/tasks/documents/${name}`;
  return [{ command, answer: null }];
}

/** Makes a folder in which commands find a checkout, and whose data is separate. @param data the data of a service that other pages use */
async function fill(folder: string, programs: Readonly<Record<string, string>>, data: string | null): Promise<void> {
  for (const name of readdirSync(ROOT)) {
    if (name !== "data" && name !== ".git") await symlink(path.join(ROOT, name), path.join(folder, name));
  }
  for (const name of ["etc", "programs"]) await mkdir(path.join(folder, name));
  await (data === null ? mkdir(path.join(folder, "data")) : symlink(data, path.join(folder, "data")));
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(path.join(folder, "programs", name), text, { mode: 0o755 });
  }
}

function realNpm(): string {
  const folders = process.env["PATH"]!.split(path.delimiter);
  return folders.map((folder) => path.join(folder, "npm")).find((file) => existsSync(file))!;
}
