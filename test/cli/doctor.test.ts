import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync } from "node:fs";
import { chown, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { VERSION } from "../../src/http/headers.ts";
import { LAYERS } from "../../src/sandbox/self-test/check.ts";
import { type Home, leave, makeHome, type Service, startService } from "../contract/service.ts";
import { whyNoUser } from "../contract/user.ts";
import { missing, startRedis } from "../redis/server.ts";
import { fakeBubblewrap, NO_PLAN } from "../sandbox/reduced-sandbox.ts";
import { command } from "./command.ts";

const noRedis = await missing("redis-server");
const isRoot = process.getuid?.() === 0;
const ROOT = path.join(import.meta.dirname, "../..");
/** The uid of a user without permissions, which every system has. */
const NOBODY = 65_534;

let home: Home;
/** Layers that depend on the user of the test and on the machine. */
const ABOUT_THE_MACHINE = ["Node", "host user", "memory", "threads", "processor", "root given up"];

before(async () => {
  home = await makeHome();
});
after(() => home[Symbol.asyncDispose]());

interface Layer {
  readonly layer: string;
  readonly ok: boolean;
  readonly weak: boolean;
  readonly proof: string;
  readonly remedy?: string;
}

interface Diagnosis {
  readonly code: number | null;
  readonly ok: boolean;
  readonly isolation: string | null;
  readonly layers: ReadonlyMap<string, Layer>;
}

/** Runs the doctor with a free port and the data folder of the home. `args` can override these. */
async function diagnose(args: readonly string[], settings = {}, uid?: number): Promise<Diagnosis> {
  const all = ["doctor", "--json", "--port", "0", "--data", home.data, ...args];
  const { code, stdout, stderr } = await command(all, { TMPDIR: home.tmp, ...settings }, uid);
  assert.equal(stderr, "");
  const { ok, isolation, layers } = JSON.parse(stdout) as Diagnosis & { layers: Layer[] };
  assert.equal(code, ok ? 0 : 1);
  return { code, ok, isolation, layers: new Map(layers.map((each) => [each.layer, each])) };
}

function namesOf({ layers }: Diagnosis, chosen: (layer: Layer) => boolean): string[] {
  return [...layers.values()].filter(chosen).map(({ layer }) => layer);
}

/** The layers of the level namespaces, which has all of them. */
const NAMESPACE_LAYERS = Object.keys(LAYERS).filter((layer) => layer !== "namespaces");

const isOpen = ({ ok }: Layer): boolean => !ok;

describe("doctor --json, if the sandbox holds", () => {
  it("ends with exit code 0, with a proof for each layer, a remedy only for weak layers, and no file left", async () => {
    const words = ["doctor", "--json", "--port", "0", "--data", home.data];
    const { code, stdout } = await command(words, { TMPDIR: home.tmp });
    const report = JSON.parse(stdout) as { layers: Layer[] };
    const { layers, ...rest } = report;
    assert.deepEqual([code, rest], [0, { ok: true, version: VERSION, configured: "auto", isolation: "namespaces" }]);
    const names = layers.map(({ layer }) => layer);
    const expected = ["platform", "Node", "bubblewrap", "user namespaces", "sandbox", ...NAMESPACE_LAYERS, "esbuild"];
    assert.deepEqual(names, [...expected, "root given up", "egress", "data folder", "port"]);
    for (const { layer, ok, weak, proof, remedy } of layers) {
      assert.equal(ok, true, layer);
      assert.ok(proof.length > 0, layer);
      assert.equal(remedy === undefined, !weak, layer);
      if (!ABOUT_THE_MACHINE.includes(layer)) assert.equal(weak, false, `${layer}: ${proof}`);
    }
    assert.equal(existsSync(home.data), false);
    assert.deepEqual(await readdir(home.tmp), []);
  });

  it("ends with exit code 0 at the lowest and highest limits too", async () => {
    const least = ["--memory-limit", "64MiB", "--tmp-limit", "1MiB", "--thread-limit", "16", "--cpu-limit", "0.5"];
    const most = [
      "--memory-limit",
      "4GiB",
      "--tmp-limit",
      "1GiB",
      "--thread-limit",
      "4096",
      "--descriptor-limit",
      "3000",
    ];
    for (const limits of [[...least, "--result-limit", "1B"], most]) {
      const found = await diagnose(limits);
      assert.deepEqual(namesOf(found, isOpen), []);
      assert.ok(namesOf(found, ({ weak }) => weak).every((layer) => ABOUT_THE_MACHINE.includes(layer)));
    }
  });

  it(
    "examines the other settings of a start: egress, and the Redis that nodes share",
    {
      skip: noRedis,
    },
    async () => {
      await using redis = await startRedis();
      const flags = ["--egress-ports", "8443", "--egress-allow", "db.internal:5432", "--redis", redis.url];
      const found = await diagnose(flags);
      assert.deepEqual(namesOf(found, isOpen), []);
      assert.match(found.layers.get("egress")!.proof, /^public addresses on ports 8443; also db\.internal:5432 by/);
      assert.match(found.layers.get("Redis")!.proof, /it answered in/);
    },
  );
});

describe("doctor without --json", () => {
  it("prints an aligned line without colours for each layer, and the result", async () => {
    const { code, stdout, stderr } = await command(["doctor", "--port", "0", "--data", home.data]);
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.trimEnd().split("\n");
    for (const layer of ["platform", ...NAMESPACE_LAYERS, "egress", "port"]) {
      const found = lines.filter((line) => line.slice(6).startsWith(layer.padEnd(20)));
      assert.equal(found.length, 1, layer);
      assert.match(found[0]!, /^(?:ok {4}|weak {2}).{20}\S/);
    }
    assert.match(lines.at(-1)!, /^The sandbox holds \(isolation namespaces\)/);
    assert.ok(!stdout.includes("\u001B"));
  });
});

describe("doctor during a running service", () => {
  let service: Service;
  let busy: Home;
  before(async () => {
    busy = await makeHome();
    service = await startService([], busy);
  });
  after(() => leave(service, busy));

  it("detects the service at its port and data folder, does not disturb it, and ends with exit code 0", async () => {
    const { ok, layers } = await diagnose(["--data", busy.data, "--port", String(service.port)]);
    assert.equal(ok, true);
    assert.ok(layers.get("port")!.proof.includes(`caisson ${VERSION}, isolation namespaces`));
    assert.match(layers.get("data folder")!.proof, /process \d+ uses it/);
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
  });
});

/** Creates a PATH with all programs that a start needs, except bubblewrap. */
async function withoutBubblewrap(): Promise<string> {
  const programs = path.join(home.tmp, "programs");
  await mkdir(programs, { recursive: true });
  for (const [name, target] of Object.entries({ dirname: "/usr/bin/dirname", node: process.execPath })) {
    await symlink(target, path.join(programs, name)).catch(() => {});
  }
  return programs;
}

describe("doctor on a machine with a missing layer", () => {
  it("reports that bubblewrap is missing and how to install it, as serve does", async () => {
    const programs = await withoutBubblewrap();
    const found = await diagnose(["--isolation", "namespaces"], { PATH: programs });
    assert.deepEqual([found.ok, found.isolation], [false, null]);
    assert.deepEqual(namesOf(found, isOpen), ["bubblewrap", "sandbox"]);
    assert.match(found.layers.get("bubblewrap")!.remedy!, /apt-get install -y bubblewrap/);
    const args = ["serve", "--isolation", "namespaces", "--port", "0", "--data", home.data];
    const { code, stdout, stderr } = await command(args, { PATH: programs });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr, `caisson: ${found.layers.get("sandbox")!.proof}\n`);
  });

  it("falls back to the level confined, with the reason and the fix", async () => {
    const found = await diagnose([], { PATH: await withoutBubblewrap() });
    assert.deepEqual([found.ok, found.isolation], [true, "confined"]);
    assert.match(
      found.layers.get("sandbox")!.proof,
      /^confined \(.*\), instead of namespaces: bubblewrap is not installed/,
    );
    for (const layer of ["bubblewrap", "namespaces"]) {
      assert.ok(found.layers.get(layer)!.weak, layer);
      assert.match(found.layers.get(layer)!.remedy!, /install/);
    }
  });

  it("names the layer that a changed bubblewrap omits, and serve refuses to start with it", async () => {
    await using thin = await fakeBubblewrap(NO_PLAN);
    const PATH = `${thin.path}:${process.env["PATH"]}`;
    const found = await diagnose([], { PATH });
    assert.equal(found.isolation, "namespaces");
    assert.ok(namesOf(found, isOpen).includes("system calls"));
    assert.ok(namesOf(found, isOpen).includes("network"));
    const { code, stderr } = await command(["serve", "--port", "0", "--data", home.data], { PATH });
    assert.equal(code, 1);
    assert.match(stderr, /^caisson: the sandbox does not hold: system calls: its filters \(1\)/);
  });

  it("reports that user namespaces are forbidden, and the responsible setting", { skip: !isRoot }, async () => {
    for (const verb of ["doctor", "serve"]) {
      const args = [verb, "--isolation", "namespaces", "--port", "0", "--data", home.data];
      const { code, output } = await withoutNamespaces(args);
      assert.equal(code, 1, output);
      assert.match(output.replaceAll(/\s+/g, " "), /sudo sysctl -w user\.max_user_namespaces=15000/);
      assert.doesNotMatch(output, /\n\s+at /);
    }
  });

  it("reports that no packages can be built if esbuild is not installed, and how to install it", async () => {
    // The folder of a package without its optional dependencies.
    const folder = path.join(home.tmp, "without-esbuild");
    cpSync(path.join(ROOT, "dist"), folder, { recursive: true });
    const args = ["doctor", "--json", "--isolation", "none", "--port", "0", "--data", home.data];
    const child = spawn(process.execPath, [path.join(folder, "main.js"), ...args], { env: { TMPDIR: home.tmp } });
    const { layers } = JSON.parse(await text(child.stdout)) as { layers: Layer[] };
    const { weak, proof, remedy } = layers.find(({ layer }) => layer === "esbuild")!;
    assert.equal(weak, true);
    assert.equal(proof, "not installed; without it the service starts, but builds no packages");
    assert.match(remedy!, /npm install @esbuild\/linux-/);
  });

  it("reports the open layers with --isolation none", async () => {
    const found = await diagnose(["--isolation", "none"]);
    assert.deepEqual([found.ok, found.isolation], [false, "none"]);
    const open = namesOf(found, isOpen);
    for (const layer of ["sandbox", "network", "system calls", "user namespace"])
      assert.ok(open.includes(layer), layer);
    assert.ok(found.layers.get("files")!.weak);
  });
});

describe("doctor on a machine with weaker layers", () => {
  it(
    "warns and ends with exit code 0 for a user without control groups and other user ids",
    { skip: whyNoUser() },
    async () => {
      const theirs = path.join(home.tmp, "theirs");
      await mkdir(theirs);
      await chown(theirs, NOBODY, NOBODY);
      const found = await diagnose(["--data", path.join(theirs, "data")], { TMPDIR: theirs }, NOBODY);
      assert.equal(found.ok, true);
      assert.deepEqual(
        namesOf(found, ({ weak }) => weak),
        ["host user", "memory", "threads", "processor"],
      );
      assert.match(found.layers.get("memory")!.proof, /use more than the limit: (?!got through)/);
      assert.match(found.layers.get("root given up")!.proof, /nothing to give up/);
    },
  );
});

describe("doctor with invalid settings", () => {
  it("ends with exit code 2 for invalid settings, as serve does", async () => {
    const { code, stdout, stderr } = await command(["doctor", "--memory-limit", "256"]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^caisson: --memory-limit/);
  });
});

/** Runs the command line as root of a user namespace that has all ids and may not create namespaces. */
async function withoutNamespaces(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  // Only a program that starts after the ids are mapped has the rights of root there.
  const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec scripts/node dist/main.js "$@"';
  const script = `read go; exec sh -c '${forbid}' sh "$@"`;
  const child = spawn("unshare", ["--user", "sh", "-c", `echo made; ${script}`, "sh", ...args], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], TMPDIR: home.tmp },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  const errors = text(child.stderr);
  await once(child.stdout, "readable");
  for (const map of ["uid_map", "gid_map"]) await writeFile(`/proc/${child.pid}/${map}`, "0 0 65536");
  const output = text(child.stdout);
  child.stdin.end("go\n");
  const [code] = await closed;
  return { code, output: (await output) + (await errors) };
}
