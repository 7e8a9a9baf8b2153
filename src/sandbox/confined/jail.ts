import { chmodSync, copyFileSync, linkSync, mkdirSync, type Stats, statSync } from "node:fs";
import { chmod, constants, copyFile, link, mkdir, readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";

import { type Identity, ownIdentity } from "../privilege.ts";
import { sharedLibraries } from "../program/libraries.ts";
import type { RunFolder } from "../temp/run-folder.ts";
import { type GuestHome, RootMaker } from "./guest-home.ts";

/** Creates roots for guests. The jail's folder is in the run folder and is removed with it. */
export interface Jail {
  readonly path: string;
  makeRoot(identity: Identity): GuestHome;
  /** Creates a root with esbuild's binary and nothing else. @throws {Error} if esbuild is not installed. */
  makeEsbuildRoot(identity: Identity): GuestHome;
}

/** The path of esbuild's binary in its root. */
export const ESBUILD = "bin/esbuild";

const OTHERS_WRITE = 0o022;
const OTHERS_READ_AND_EXECUTE = 0o005;

/**
 * Puts Node, its libraries and the guest program into a folder that is closed to all other users. Each root gets hard
 * links to these files.
 *
 * @throws {Error} if the folder cannot be created.
 */
export async function makeJail(folder: RunFolder): Promise<Jail> {
  const jail = path.join(folder.path, "jail");
  await mkdir(jail, { mode: 0o700 });
  const files = new Map<string, string>();
  for (const [name, source] of await filesOfRoot(folder)) {
    const file = path.join(jail, "template", name);
    await mkdir(path.dirname(file), { recursive: true });
    await placeFile(source, file);
    files.set(name, file);
  }
  const roots = path.join(jail, "roots");
  await mkdir(roots);
  const maker = new RootMaker(roots, files);
  let esbuildMaker: RootMaker | null = null;
  return {
    path: jail,
    makeRoot: (identity) => maker.make(identity),
    makeEsbuildRoot: (identity) => (esbuildMaker ??= makerOfEsbuild(folder, jail)).make(identity),
  };
}

/** Synchronous, because the start of a guest is. The binary is put into the jail when the first build needs it. */
function makerOfEsbuild(folder: RunFolder, jail: string): RootMaker {
  const { file: source } = folder.esbuild();
  const file = path.join(jail, "template", "esbuild");
  const roots = path.join(jail, "esbuild-roots");
  mkdirSync(roots);
  if (!isFit(statSync(source)) || !isLinkedSync(source, file)) {
    copyFileSync(source, file, constants.COPYFILE_FICLONE);
    chmodSync(file, 0o755);
  }
  return new RootMaker(roots, new Map([[ESBUILD, file]]));
}

/** Returns the source of each file of a root, by its name in the root without the leading `/`. */
async function filesOfRoot({ node, program }: RunFolder): Promise<Map<string, string>> {
  const sources = new Map([["bin/node", node]]);
  for (const library of sharedLibraries()) sources.set(library.slice(1), await realpath(library));
  for (const entry of await readdir(program, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile()) sources.set(path.join("guest", path.relative(program, file)), file);
  }
  return sources;
}

/** Puts a file into the jail: as a hard link, so that guests share its memory with the service; otherwise as a copy. */
async function placeFile(source: string, file: string): Promise<void> {
  if (isFit(await stat(source)) && (await isLinked(source, file))) return;
  await copyFile(source, file, constants.COPYFILE_FICLONE);
  await chmod(file, 0o755);
}

/** Whether a file may be linked into the jail: no other user can change it, and all can execute it. */
function isFit({ mode, uid }: Stats): boolean {
  const rights = mode & (OTHERS_WRITE | OTHERS_READ_AND_EXECUTE);
  return rights === OTHERS_READ_AND_EXECUTE && [0, ownIdentity().uid].includes(uid);
}

function isLinkedSync(source: string, file: string): boolean {
  try {
    linkSync(source, file);
    return true;
  } catch {
    return false;
  }
}

/** Returns false if the file is on another disk, or if the kernel forbids the link (`fs.protected_hardlinks`). */
async function isLinked(source: string, file: string): Promise<boolean> {
  return link(source, file).then(
    () => true,
    () => false,
  );
}
