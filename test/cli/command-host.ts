/**
 * A process that runs commands of the command line one after the other, for hosted-command.ts. It gives each command the
 * arguments, the environment, the folder and the streams of a separate process.
 */
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import { constants, Script } from "node:vm";

import type * as CommandLine from "../../src/command-line.ts";
import type { Ended } from "./command.ts";

/** A command that the test asks for. */
export interface Asked {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly input: string | undefined;
}

/** What `process.exit` throws here, so that nothing after it runs. */
class Exit extends Error {}

const DIST = path.join(import.meta.dirname, "../../dist");
const { commandLine } = load();
const sockets = new Set<Socket>();
subscribe("net.client.socket", (message) => sockets.add((message as { socket: Socket }).socket));
/** Ends the command that runs: with an exit code, or with an uncaught error. */
let end: (code: number, error?: unknown) => void = () => {};
const leave = process.exit.bind(process);
process.exit = (code = process.exitCode) => {
  end(Number(code ?? 0));
  throw new Exit();
};
process.on("uncaughtException", (error) => error instanceof Exit || end(1, error));
// The next commands would not be root.
process.setuid = () => {
  throw new Error("a command that changes its user needs a separate process");
};
process.once("disconnect", () => leave(0));
process.on("message", (asked: Asked) => void run(asked).then((ended) => process.send!(ended)));

async function run({ args, environment, folder, input }: Asked): Promise<Ended> {
  /** What keeps this process alive without a command. */
  const waiting = process.getActiveResourcesInfo().length;
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.argv = [process.execPath, path.join(DIST, "main.js"), ...args];
  process.exitCode = undefined;
  const ended = Promise.withResolvers<number>();
  let hasEnded = false;
  const printed: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  for (const name of ["stdout", "stderr"] as const) {
    const write = (chunk: Buffer, _: BufferEncoding, done: () => void): void => {
      if (!hasEnded) printed[name].push(chunk);
      done();
    };
    replace(name, new Writable({ write }));
  }
  replace("stdin", Readable.from(input === undefined ? [] : [Buffer.from(input)], { objectMode: false }));
  end = (code, error) => {
    if (error !== undefined) process.stderr.write(inspect(error));
    hasEnded = true;
    ended.resolve(code);
  };
  const returns = async (): Promise<void> => {
    await commandLine(() => {});
    // A process ends when nothing keeps it alive.
    while (process.getActiveResourcesInfo().length > waiting) {
      if (hasEnded) return;
      await pause(1);
    }
    if (!hasEnded) end(Number(process.exitCode ?? 0));
  };
  returns().catch((error: unknown) => error instanceof Exit || end(1, error));
  const code = await ended.promise;
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  const [stdout, stderr] = [printed.stdout, printed.stderr].map((chunks) => Buffer.concat(chunks).toString());
  return { code, stdout: stdout!, stderr: stderr! };
}

function replace(name: "stdin" | "stdout" | "stderr", stream: Readable | Writable): void {
  Object.defineProperty(process, name, { value: stream, configurable: true });
}

/** Loads the command line of the build, as `dist/main.js` does. */
function load(): typeof CommandLine {
  const filename = path.join(DIST, "program.js");
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const script = new Script(readFileSync(filename, "latin1"), { filename, importModuleDynamically });
  const open = script.runInThisContext() as (...all: unknown[]) => typeof CommandLine;
  return open(DIST, filename, createRequire(filename));
}
