import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

import {
  type ImageConfig,
  imageConfig,
  type Instruction,
  readContext,
  readCopy,
  readDockerfile,
} from "./dockerfile.ts";
import { ociConfig } from "./oci.ts";
import { runToEnd } from "./runtime.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** The cache of layers, like an engine's. The dependencies change seldom and take the longest. */
const LAYERS = path.join(ROOT, "node_modules/.cache/caisson-image");

/** The result of `docker build`, as far as it can be emulated without an engine. */
export interface Image {
  readonly rootfs: string;
  readonly config: ImageConfig;
}

/**
 * Executes the project's Dockerfile: copies the same files, and runs the same commands in a separate container with the
 * network of the host. The base images are not available here. This machine's `/usr` replaces them, read-only, and so
 * `apt-get` is left out. The tests do not detect that a slim image has fewer files than this machine.
 */
export function buildImage(): Image {
  const built = new Map<string, string>();
  const stages = readDockerfile();
  for (const { name, instructions } of stages) {
    built.set(name ?? "image", buildStage(name ?? "image", instructions, built));
  }
  return { rootfs: built.get("image")!, config: imageConfig(stages.at(-1)!) };
}

function buildStage(name: string, instructions: readonly Instruction[], built: ReadonlyMap<string, string>): string {
  const digest = digestOf(instructions, built);
  const finished = path.join(LAYERS, `${name}-${digest}`);
  if (existsSync(finished)) return finished;
  mkdirSync(LAYERS, { recursive: true });
  for (const old of readdirSync(LAYERS).filter((each) => each.startsWith(`${name}-`))) remove(path.join(LAYERS, old));
  // Built in a temporary folder: an interrupted build leaves no partial layer, and two builds at once do not conflict.
  const rootfs = mkdtempSync(path.join(LAYERS, `unfinished-${name}-`));
  try {
    makeBase(rootfs);
    let cwd = "/";
    for (const { name: what, text } of instructions) {
      if (what === "WORKDIR") mkdirSync(path.join(rootfs, (cwd = path.resolve(cwd, text))), { recursive: true });
      if (what === "COPY") copy(rootfs, cwd, text, built);
      if (what === "RUN") run(rootfs, cwd, text);
    }
    renameSync(rootfs, finished);
  } catch (error) {
    remove(rootfs);
    if (!existsSync(finished)) throw error;
  }
  return finished;
}

/** Returns a digest of everything that a stage is made of. */
function digestOf(instructions: readonly Instruction[], built: ReadonlyMap<string, string>): string {
  const digest = createHash("sha256");
  for (const { name, text } of instructions) {
    digest.update(`${name} ${text}\n`);
    if (name !== "COPY") continue;
    const { from, sources } = readCopy(text);
    if (from !== null) digest.update(built.get(from)!);
    else for (const file of sources.flatMap(filesOf)) digest.update(file).update(readFileSync(path.join(ROOT, file)));
  }
  return digest.digest("hex").slice(0, 16);
}

function filesOf(source: string): string[] {
  if (!statSync(path.join(ROOT, source)).isDirectory()) return [source];
  const entries = readdirSync(path.join(ROOT, source), { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name))).toSorted();
}

/** Files of Debian's images outside of `/usr` that the service may read. */
function makeBase(rootfs: string): void {
  chmodSync(rootfs, 0o755);
  for (const folder of ["dev", "etc", "home", "proc", "root", "run", "sys", "usr", "var/lib", "opt"]) {
    mkdirSync(path.join(rootfs, folder), { recursive: true });
  }
  for (const folder of ["tmp", "var/tmp"]) {
    mkdirSync(path.join(rootfs, folder));
    chmodSync(path.join(rootfs, folder), 0o1777);
  }
  for (const name of readdirSync("/").filter((each) => lstatSync(`/${each}`).isSymbolicLink())) {
    const target = readlinkSync(`/${name}`);
    if (target.startsWith("usr/")) symlinkSync(target, path.join(rootfs, name));
  }
  for (const name of ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "login.defs", "debian_version"]) {
    if (existsSync(`/etc/${name}`))
      cpSync(`/etc/${name}`, path.join(rootfs, "etc", name), { recursive: true, verbatimSymlinks: true });
  }
  for (const [name, text] of Object.entries(ETC)) writeFileSync(path.join(rootfs, "etc", name), text);
}

const ETC: Readonly<Record<string, string>> = {
  passwd: "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
  group: "root:x:0:\nnogroup:x:65534:\n",
  shadow: "root:*:20000:0:99999:7:::\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  hosts: "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
  hostname: "caisson\n",
  "resolv.conf": "",
};

/** Copies a file, or the contents of a folder. From the context, only sent files can be copied. */
function copy(rootfs: string, cwd: string, text: string, built: ReadonlyMap<string, string>): void {
  const { from, sources, target } = readCopy(text);
  const to = path.join(rootfs, path.resolve(cwd, target));
  if (sources.length > 1 && !target.endsWith("/")) throw new Error(`COPY ${text}: several files need a folder`);
  for (const source of sources) {
    if (from === null && !readContext().includes(source)) throw new Error(`COPY ${text}: ${source} is not sent`);
    const file = from === null ? path.join(ROOT, source) : path.join(built.get(from)!, source);
    const isFolder = statSync(file).isDirectory();
    mkdirSync(isFolder || target.endsWith("/") ? to : path.dirname(to), { recursive: true });
    execFileSync("cp", ["-a", "--no-preserve=ownership", isFolder ? `${file}/.` : file, to]);
  }
}

function run(rootfs: string, cwd: string, text: string): void {
  if (text.startsWith("apt-get ")) return;
  runToEnd(
    ociConfig(
      {
        rootfs,
        words: ["/bin/sh", "-c", text],
        cwd,
        environment: NETWORKED,
        network: null,
        binds: [["/usr", "/usr", "ro"], ...THIS_MACHINE.filter((file) => existsSync(file)).map(bind)],
      },
      {},
    ),
  );
}

/** Returns the environment that npm needs on this machine to reach its registry, including proxies and certificates. */
const THIS_MACHINE = ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl", "/etc/npmrc", process.env["HOME"] ?? "/root"];
const NETWORKED: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...process.env, npm_config_prefer_offline: "true", npm_config_update_notifier: "false" }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && !/^(?:CAISSON|NODE_(?!EXTRA_CA))/.test(pair[0]),
  ),
);

function bind(file: string): readonly [string, string, "rw"] {
  return [file, file, "rw"];
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
