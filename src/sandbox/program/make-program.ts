import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, open, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";

import { SEAL, sealLibrary } from "../plan/seal.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { bundle, toCommonJs, toScript } from "./bundle.ts";

const SOURCE = path.join(import.meta.dirname, "../..");
/** What .js files are to Node, by their folders: it asks the nearest package.json, and inside the sandbox there are these. */
const PARTS = { guest: "commonjs", "guest/network": "module" };
/** What Node starts. It begins with an ES module after 4 ms more of processor time, of some 60. */
const MAIN = { name: "guest/main.js", source: "guest/load.ts" };
/** What that runs. */
const PROGRAM = { name: "guest/program.js", source: "guest/main.ts" };
/** What each thread of a task begins with. */
const WORKER = { name: "guest/network/worker.js", source: "guest/network/worker.ts" };
/** What V8 made of it. Each making gives other bytes of the same worth. */
export const CACHE = "guest/program.cache";
/** It takes a tenth of a second; a busy machine takes longer. */
const CACHE_MS = 15_000;

/**
 * Makes the files of the guest program, as JavaScript, its modules in one.
 *
 * @throws {Error} where Node cannot be started.
 */
export async function makeProgram(folder: string): Promise<void> {
  const make = async ({ name, source }: typeof MAIN, as: (bundled: string) => string): Promise<void> => {
    await makeFile(path.join(folder, name), as(await bundle(path.join(SOURCE, source))));
  };
  for (const [part, type] of Object.entries(PARTS)) {
    await makeFolder(path.join(folder, part));
    await makeFile(path.join(folder, part, "package.json"), `${JSON.stringify({ type })}\n`);
  }
  await make(MAIN, toCommonJs);
  await make(PROGRAM, toScript);
  await make(WORKER, (module) => module);
  await makeFile(path.join(folder, SEAL), sealLibrary(process.arch as Architecture));
  await makeCache(folder);
}

/** Has a guest compile the program that nobody gives any code. It stands behind no wall for that. */
async function makeCache(folder: string): Promise<void> {
  await makeFile(path.join(folder, CACHE), "");
  await using file = await open(path.join(folder, CACHE), "w");
  const words = ["--no-addons", path.join(folder, MAIN.name), "cache"];
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", file.fd, "pipe", "pipe"],
    env: {},
    timeout: CACHE_MS,
    killSignal: "SIGKILL",
  });
  const socket = child.stdio[3] as Socket;
  // It says that it is ready in the turn in which it writes the cache, and ends when it is left alone.
  socket.once("data", () => socket.destroy()).on("error", () => {});
  const said = text(child.stderr!);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (code === 0) return;
  const why = /^\w*Error: .*/m.exec(await said)?.[0] ?? signal ?? `exit code ${code}`;
  throw new Error(`the program of the guests cannot be compiled into ${folder}: ${why}`);
}

// Modes are set and not asked for: the umask of the service may keep its files from guests' users.
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

async function makeFile(file: string, content: string | Buffer): Promise<void> {
  await writeFile(file, content);
  await chmod(file, 0o644);
}
