import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { until } from "../contract/until.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const MAX_BYTES = 1.5e6;
/** The environment of a user with this Node on the PATH. npm must not reach its registry. */
const ENVIRONMENT = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm_|CAISSON_)/i.test(name))),
  PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`,
  npm_config_offline: "true",
  npm_config_update_notifier: "false",
};
/** The Node of the machine, which may be older than the one that caisson needs. */
const MACHINE_NODE = "/usr/bin/node";

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;

before(() => {
  folder = mkdtempSync(path.join(tmpdir(), "caisson-package-"));
  // The service becomes another user, which must reach the package.
  execFileSync("chmod", ["755", folder]);
  const words = ["pack", "--json", "--silent", "--pack-destination", folder];
  packed = (JSON.parse(execFileSync("npm", words, { cwd: ROOT, encoding: "utf8" })) as Packed[])[0]!;
  writeFileSync(path.join(folder, "package.json"), "{}");
  const install = ["install", "--silent", "--ignore-scripts", `./${packed.filename}`];
  execFileSync("npm", install, { cwd: folder, env: ENVIRONMENT });
});
after(() => rmSync(folder, { recursive: true, force: true }));

function npx(...words: readonly string[]): ReturnType<typeof spawnSync> {
  return spawnSync("npx", ["--no-install", "caisson", ...words], { cwd: folder, env: ENVIRONMENT, encoding: "utf8" });
}

async function withService(action: (url: string) => void): Promise<void> {
  // The first run of TypeScript computes for seconds if the machine is busy with other tests.
  const words = ["--no-install", "caisson", "serve", "--port", "0", "--block-limit", "20s"];
  const service: ChildProcess = spawn("npx", words, { cwd: folder, env: ENVIRONMENT, detached: true });
  const ended = once(service, "exit");
  let printed = "";
  for (const stream of [service.stdout!, service.stderr!])
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  try {
    await until(() => /^curl /m.test(printed) || service.exitCode !== null, "the service has started", 60_000);
    const url = /serves at (\S+)/.exec(printed)?.[1];
    assert.ok(url, printed);
    action(url);
  } finally {
    process.kill(-service.pid!, "SIGTERM");
    await ended;
  }
}

describe("the package", () => {
  it("contains the build and the documents, in less than 1.5 MB, and needs no other package", () => {
    assert.ok(packed.size < MAX_BYTES, `${packed.size} bytes`);
    const folders = new Set(packed.files.map((file) => file.path.split("/", 1)[0]!));
    const files = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "llms.txt", "package.json"];
    assert.deepEqual([...folders].toSorted(), [...files, "bin", "deploy", "dist", "docs"].toSorted());
    const consoleFiles = packed.files.map((file) => file.path).filter((file) => file.startsWith("dist/console/"));
    for (const file of [/index\.html$/, /console\/start-\w+\.js$/, /console\/style-.+\.css$/, /licenses\.txt$/])
      assert.ok(
        consoleFiles.some((each) => file.test(each)),
        `${file}`,
      );
    const installed = readdirSync(path.join(folder, "node_modules")).filter((name) => !name.startsWith("."));
    assert.deepEqual(
      installed.filter((name) => !name.startsWith("node-linux-")),
      ["caisson"],
    );
  });

  it("serves and runs a file by npx, in an empty folder without a network", async () => {
    writeFileSync(path.join(folder, "task.ts"), "const six: number = 6;\nreturn six * 7");
    await withService((url) => {
      const token = readFileSync(path.join(folder, "data/admin.token"), "utf8").trim();
      const run = spawnSync("npx", ["--no-install", "caisson", "run", "task.ts", "--url", url], {
        cwd: folder,
        env: { ...ENVIRONMENT, CAISSON_TOKEN: token },
        encoding: "utf8",
      });
      assert.deepEqual([run.status, run.stdout], [0, "42\n"], run.stderr);
      const page = execFileSync("curl", ["-sS", "-H", "Accept: text/html", url], { encoding: "utf8" });
      const start = /console\/start-\w+\.js/.exec(page)![0];
      assert.match(execFileSync("curl", ["-sS", `${url}/${start}`], { encoding: "utf8" }), /createElement/);
    });
  });

  it("is started with the Node that it pins, if npm has installed it", () => {
    const pinned = path.join(folder, `node_modules/node-linux-${process.arch}`);
    rmSync(pinned, { recursive: true, force: true });
    const program = path.join(folder, "node_modules/caisson/bin/caisson.js");
    const version = execFileSync(MACHINE_NODE, ["-p", "process.versions.node"], { encoding: "utf8" });
    const without = spawnSync(MACHINE_NODE, [program, "--version"], { encoding: "utf8" });
    if (Number.parseInt(version, 10) < 24) {
      assert.equal(without.status, 4);
      assert.match(without.stderr, /^caisson needs Node 24 or newer, and this is [\d.]+: install it from/);
    } else assert.equal(without.status, 0);
    mkdirSync(path.join(pinned, "bin"), { recursive: true });
    writeFileSync(path.join(pinned, "package.json"), "{}");
    symlinkSync(process.execPath, path.join(pinned, "bin/node"));
    for (const node of [MACHINE_NODE, process.execPath]) {
      const { status, stdout, stderr } = spawnSync(node, [program, "--version"], { encoding: "utf8" });
      assert.deepEqual([status, stdout], [0, "0.1.0\n"], stderr);
      const wrong = spawnSync(node, [program, "no-such-command"], { encoding: "utf8" });
      assert.deepEqual([wrong.status, wrong.signal], [2, null]);
    }
    rmSync(pinned, { recursive: true, force: true });
    assert.match(String(npx("--help").stdout), /^Usage: caisson /m);
  });
});

describe("npm run caisson", () => {
  it("resolves relative paths against the folder of the user, and finds the data of the checkout", () => {
    const own = mkdtempSync(path.join(tmpdir(), "caisson-user-folder-"));
    try {
      writeFileSync(path.join(own, "settings.json"), '{ "no-such-setting": 1 }');
      const words = ["--prefix", ROOT, "run", "-s", "caisson", "--", "serve", "--config", "settings.json"];
      const { status, stderr } = spawnSync("npm", words, { cwd: own, env: ENVIRONMENT, encoding: "utf8" });
      assert.equal(status, 2);
      assert.match(stderr, /no-such-setting/);
      const help = spawnSync("npm", [...words.slice(0, 6), "serve", "--help"], { cwd: own, encoding: "utf8" });
      assert.ok(help.stdout.includes(path.join(ROOT, "data")), help.stderr);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});
