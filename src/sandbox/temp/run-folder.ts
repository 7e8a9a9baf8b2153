import { chmodSync, constants, copyFileSync, existsSync, realpathSync, statSync } from "node:fs";
import { chmod, copyFile, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { stubProgram } from "../plan/stub.ts";
import { type EsbuildProgram, requireEsbuild } from "../program/esbuild-program.ts";
import { makeFolder, makeProgram } from "../program/make-program.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { showLiveness } from "./liveness.ts";
import { processTag } from "./process-tag.ts";
import { removeTree } from "./remove-tree.ts";

/** The folder with the files that guests are started from. Every user of the host may read it. */
export interface RunFolder {
  readonly path: string;
  /** The Node executable of all guests. */
  readonly node: string;
  /** The folder of the guest program. Its entry is `guest/main.js`. */
  readonly program: string;
  /** The program that a guest's process runs first. */
  readonly stub: string;
  /**
   * Returns esbuild's binary in a place that every user can reach. Its first call may copy the binary.
   *
   * @throws {Error} if esbuild is not installed.
   */
  esbuild(): EsbuildProgram;
  remove(): Promise<void>;
}

/** The prefix of the folder's name. The tag of its process follows, by which a later start detects a stale folder. */
export const RUN_FOLDER = "caisson-run-";

/**
 * Creates the run folder in the system's temporary folder.
 *
 * bubblewrap runs as the guest's user and cannot bind a file below a private folder, such as root's home. Therefore all
 * files of a guest are put where that user can reach them.
 */
export async function prepareRunFolder(): Promise<RunFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), processTag(RUN_FOLDER)));
  const liveness = await showLiveness(folder);
  await chmod(folder, 0o755);
  const program = path.join(folder, "program");
  await makeFolder(program);
  const remove = async (): Promise<void> => {
    await liveness.end();
    await removeTree(folder);
  };
  try {
    const stub = await makeStub(folder);
    const [node] = await Promise.all([reachableNode(folder), makeProgram(program)]);
    return { path: folder, program, stub, node, esbuild: () => reachableEsbuild(folder), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function makeStub(folder: string): Promise<string> {
  const file = path.join(folder, "stub");
  await writeFile(file, stubProgram(process.arch as Architecture));
  await chmod(file, 0o755);
  return file;
}

async function reachableNode(folder: string): Promise<string> {
  const node = await realpath(process.execPath);
  if (process.getuid?.() !== 0 || isReachableByAll(node)) return node;
  const copy = path.join(folder, "node");
  await copyFile(node, copy, constants.COPYFILE_FICLONE);
  await chmod(copy, 0o755);
  return copy;
}

/** Copies synchronously, once: the start of a guest is synchronous. */
function reachableEsbuild(folder: string): EsbuildProgram {
  const program = requireEsbuild();
  const file = realpathSync(program.file);
  if (process.getuid?.() !== 0 || isReachableByAll(file)) return { ...program, file };
  const copy = path.join(folder, "esbuild");
  if (!existsSync(copy)) {
    copyFileSync(file, copy, constants.COPYFILE_FICLONE);
    chmodSync(copy, 0o755);
  }
  return { ...program, file: copy };
}

function isReachableByAll(file: string): boolean {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === path.dirname(folder)) return (statSync(file).mode & 0o005) === 0o005;
  }
}
