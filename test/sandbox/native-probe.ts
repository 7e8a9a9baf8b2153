import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { promisify } from "node:util";

import { type GuestResources, sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openNamespaces } from "../../src/sandbox/namespaces.ts";
import { prepareRunFolder, type RunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { useBubblewrap } from "./reduced-sandbox.ts";

const SOURCE = path.join(import.meta.dirname, "probe.c");
const MIB = 2 ** 20;
const LIMITS: GuestResources = {
  memoryBytes: 64 * MIB,
  threads: 16,
  cpuCores: 1,
  tmpBytes: 4 * MIB,
  descriptors: 128,
  resultBytes: MIB,
  logs: { bytes: MIB, linesPerSecond: 1_000 },
};
const NOBODY = 65_534;

export interface ProbeReport {
  /** The errno of each call that no guest may make, or 0 if it succeeded. */
  readonly refused: ReadonlyMap<string, number>;
  /** The errno of each call that a guest needs, or 0 if it succeeded. */
  readonly works: ReadonlyMap<string, number>;
  /** The whole output of the probe. */
  readonly output: string;
  /** How the probe ended, as text. */
  readonly how: string;
}

/** Returns why the probe cannot be compiled here, or false. */
export async function whyNoProbe(): Promise<string | false> {
  if (process.platform !== "linux") return "the probe needs Linux";
  return promisify(execFile)("cc", ["--version"]).then(
    () => false,
    () => "there is no C compiler (cc) on this system",
  );
}

/** Compiles the probe into a run folder, which has it instead of Node. */
export async function compileProbe(): Promise<RunFolder> {
  const folder = await prepareRunFolder();
  const node = path.join(folder.path, "probe");
  await promisify(execFile)("cc", ["-O1", "-pthread", "-o", node, SOURCE]);
  await chmod(node, 0o755);
  return { ...folder, node };
}

/**
 * Runs the probe under all restrictions of a guest, with the same arguments.
 *
 * @param what `all`, `i386` or `x32`.
 * @param script a script that changes bubblewrap's arguments (`reduced-sandbox.ts`).
 */
export async function probeInSandbox(
  t: TestContext,
  folder: RunFolder,
  what: string,
  script: string = "",
): Promise<ProbeReport> {
  await using _ = await useBubblewrap(script);
  const sandbox = sandboxOf(await openNamespaces({ ...folder, remove: async () => {} }, LIMITS));
  t.after(() => sandbox.close());
  const guest = await sandbox.launch();
  guest.socket.write(`${what} 0 0\n`);
  const output = await text(guest.socket);
  return report(output, (await guest.exited).how);
}

/** Returns whether the kernel has a call of another architecture: it works outside of a sandbox. @param what `i386` or `x32` */
export async function kernelHas({ node }: RunFolder, what: string): Promise<boolean> {
  const child = spawn(node, [], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
  const closed = once(child, "close");
  const socket = child.stdio[3] as Socket;
  socket.write(`${what} 0 0\n`);
  const output = await text(socket);
  const [code, signal] = (await closed) as [number | null, string | null];
  if (output === "through\n" && code === 0) return true;
  if (output === "" && signal === "SIGSEGV") return false;
  throw new Error(`the probe printed ${output} and ended with ${code ?? signal}`);
}

/** Runs the probe under the two filters of a guest alone. The first filter is made for the probe's process id. */
export async function probeUnderFilters(
  folder: RunFolder,
  makeFilter: (pid: number) => Buffer,
  seal: Buffer,
): Promise<ProbeReport> {
  const cwd = path.join(folder.path, "outside");
  await mkdir(cwd);
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (identity.uid !== undefined) await chown(cwd, identity.uid, identity.gid);
  const child = spawn(folder.node, [], { stdio: ["ignore", "ignore", "inherit", "pipe"], cwd, ...identity });
  const exited = once(child, "exit");
  const filter = makeFilter(child.pid!);
  const socket = child.stdio[3] as Socket;
  socket.write(`all ${filter.length} ${seal.length}\n`);
  socket.write(Buffer.concat([filter, seal]));
  const output = await text(socket);
  const [code, signal] = (await exited) as [number | null, string | null];
  return report(output, signal ? `signal ${signal}` : `exit code ${code}`);
}

function report(output: string, how: string): ProbeReport {
  const read = (section: string): ReadonlyMap<string, number> => {
    const lines = output.matchAll(new RegExp(`^${section} (.+) (\\d+)$`, "gm"));
    return new Map(Array.from(lines, ([, call, errno]) => [call!, Number(errno)]));
  };
  return { refused: read("refused"), works: read("works"), output, how };
}
