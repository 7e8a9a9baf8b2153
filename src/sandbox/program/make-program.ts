import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, open, readFile, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";

import { SEAL, sealLibrary } from "../plan/seal.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { cachedFile } from "./cached-file.ts";

/** The module type of the .js files in each folder. Node reads it from the nearest package.json, which is one of these. */
const PARTS = { guest: "commonjs", "guest/network": "module" };
const MAIN = "guest/main.js";
/** V8's code cache of the program. V8 writes different bytes each time, with the same meaning. */
export const CACHE = "guest/program.cache";
/** The maximum time to create the cache, in milliseconds. It takes 100 ms; a busy machine needs longer. */
const CACHE_MS = 15_000;

/**
 * Creates the files of the guest program, as JavaScript, with all modules bundled into one file.
 *
 * @throws {Error} if Node cannot be started.
 */
export async function makeProgram(folder: string): Promise<void> {
  for (const [part, type] of Object.entries(PARTS)) {
    await makeFolder(path.join(folder, part));
    await makeFile(path.join(folder, part, "package.json"), `${JSON.stringify({ type })}\n`);
  }
  // Loaded only by the process that makes the files, because the texts stay in its memory.
  const { programTexts } = await import("./program-texts.ts");
  const texts = await programTexts();
  await makeFile(path.join(folder, MAIN), texts.main);
  await makeFile(path.join(folder, "guest/program.js"), texts.program);
  await makeFile(path.join(folder, "guest/network/worker.js"), texts.worker);
  await makeFile(path.join(folder, SEAL), sealLibrary(process.arch as Architecture));
  const compile = (): Promise<Buffer> => compileProgram(folder);
  await makeFile(path.join(folder, CACHE), await cachedFile("compiled", texts.digest, compile));
}

/** Starts a guest that compiles the program. It runs no submitted code, so it needs no sandbox. @returns V8's code cache */
async function compileProgram(folder: string): Promise<Buffer> {
  await makeFile(path.join(folder, CACHE), "");
  await using file = await open(path.join(folder, CACHE), "r+");
  const args = ["--no-addons", path.join(folder, MAIN), "cache"];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", file.fd, "pipe", "pipe"],
    env: {},
    timeout: CACHE_MS,
    killSignal: "SIGKILL",
  });
  const socket = child.stdio[3] as Socket;
  // The guest sends its ready frame and writes the cache in the same turn. It ends when its socket is closed.
  socket.once("data", () => socket.destroy()).on("error", () => {});
  const stderr = text(child.stderr!);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (code === 0) return await readFile(path.join(folder, CACHE));
  const cause = /^\w*Error: .*/m.exec(await stderr)?.[0] ?? signal ?? `exit code ${code}`;
  throw new Error(`the program of the guests cannot be compiled into ${folder}: ${cause}`);
}

// chmod sets the modes, because the umask of the service may hide its files from guests' users.
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

async function makeFile(file: string, content: string | Buffer): Promise<void> {
  await writeFile(file, content);
  await chmod(file, 0o644);
}
