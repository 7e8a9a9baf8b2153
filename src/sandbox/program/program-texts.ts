import { hash } from "node:crypto";
import path from "node:path";

import { bundle, toCommonJs, toScript } from "./bundle-program.ts";

const SOURCE = path.join(import.meta.dirname, "../../guest");

/** The JavaScript files of the guest program, each with all modules that it imports. */
export interface ProgramTexts {
  /** The file that Node starts. It is CommonJS: an ES module would take 4 ms more of about 60 ms of processor time. */
  readonly main: string;
  /** The program that the main file runs, as a script. */
  readonly program: string;
  /** The ES module that each worker thread of a task loads first. */
  readonly worker: string;
  /** Names the main file and the program, which are compiled together. */
  readonly digest: string;
}

/** Bundles the guest program. A build of the service calls this function, and reads the files that it has made instead. */
export async function programTexts(): Promise<ProgramTexts> {
  const main = toCommonJs(await bundle(path.join(SOURCE, "load.ts")));
  const program = toScript(await bundle(path.join(SOURCE, "main.ts")));
  const worker = await bundle(path.join(SOURCE, "network/worker.ts"));
  return { main, program, worker, digest: hash("sha256", main + program) };
}
