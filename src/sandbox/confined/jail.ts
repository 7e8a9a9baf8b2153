import { createHash, randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rmdir,
  stat,
} from "node:fs/promises";
import path from "node:path";

import { isAbandoned, showLife } from "../alive.ts";
import { removeLeftovers } from "../leftovers.ts";
import { sharedLibraries } from "../libraries.ts";
import { CACHE } from "../make-program.ts";
import { ownName } from "../own-name.ts";
import { type Identity, ownIdentity } from "../privilege.ts";
import { removeTree } from "../remove-tree.ts";
import type { RunFolder } from "../run-folder.ts";
import { type GuestHome, RootMaker } from "./guest-home.ts";

/** One file of the root of a guest. */
interface Part {
  /** Its name there, without the first `/`. */
  readonly name: string;
  /** Where it comes from. */
  readonly source: string;
  readonly stats: Stats;
  /** What is in it, where that is little: the guest program. Of Node and its libraries the source is what counts. */
  readonly text: Buffer | null;
}

/** Makes roots for guests, as long as it is open. */
export interface Jail {
  readonly path: string;
  makeRoot(identity: Identity): GuestHome;
  close(): Promise<void>;
}

const JAIL = "caisson-jail-";
const BUILDING = "caisson-building-";
/** In a jail: what every root is made of, and the roots, by the service that made them. */
const TEMPLATE = "root";
const USERS = "users";
/** Of what is written below, so that a jail of another layout is another jail. */
const LAYOUT = 1;
const OTHERS_WRITE = 0o022;
const FINGERPRINT_LENGTH = 16;

/**
 * Opens the jail of this Node and this guest program in a folder, and builds it where there is none. It stays there for
 * the next start; those that no service uses any more are removed.
 *
 * The folder may be one that everybody writes to. A jail is found by looking, and only believed when it is this user's own,
 * closed to all others, and holds what it should: so it does not matter what others have put there, nor whether another
 * service builds at the same time, nor how a build ended. It gets its name when it is complete.
 *
 * @throws {Error} when it cannot be made there.
 */
export async function openJail(place: string, folder: RunFolder): Promise<Jail> {
  const parts = await collectParts(folder);
  const prefix = `${JAIL}${fingerprint(parts)}-`;
  // Its own also among several of one process.
  const user = `${ownName("")}${randomBytes(4).toString("hex")}`;
  await removeLeftovers(place, BUILDING);
  const found = (await findJail(place, prefix, user, parts)) ?? (await buildJail(place, prefix, user, parts));
  await removeUnused(place);
  const roots = path.join(found, USERS, user);
  const life = await showLife(roots);
  const files = new Map(parts.map(({ name }) => [name, path.join(found, TEMPLATE, name)]));
  // Of this start's own: each makes another that is as good.
  const cache = path.join(roots, path.basename(CACHE));
  await placePart(path.join(folder.program, CACHE), cache);
  const maker = new RootMaker(roots, files.set(path.join("guest", CACHE), cache));
  return {
    path: found,
    makeRoot: (identity) => maker.make(identity),
    // What cannot be removed, the next start tries again.
    close: async () => {
      await life.end();
      await succeeds(removeTree(roots));
    },
  };
}

async function collectParts({ node, program }: RunFolder): Promise<Part[]> {
  const sources = new Map([["bin/node", node]]);
  for (const library of sharedLibraries()) sources.set(library.slice(1), await realpath(library));
  for (const entry of await readdir(program, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(program, file);
    if (entry.isFile() && name !== CACHE) sources.set(path.join("guest", name), file);
  }
  return Promise.all(
    [...sources].map(async ([name, source]) => {
      const text = source.startsWith(`${program}/`) ? await readFile(source) : null;
      return { name, source, stats: await stat(source), text };
    }),
  );
}

/** Tells a changed Node, library or guest program from the one that a jail was made of. */
function fingerprint(parts: readonly Part[]): string {
  const hash = createHash("sha256").update(String(LAYOUT));
  for (const { name, stats, text } of parts) {
    const { dev, ino, size, mtimeMs } = stats;
    hash.update(`\0${name}\0`).update(text ?? `${dev} ${ino} ${size} ${mtimeMs}`);
  }
  return hash.digest("hex").slice(0, FINGERPRINT_LENGTH);
}

async function findJail(place: string, prefix: string, user: string, parts: readonly Part[]): Promise<string | null> {
  for (const name of await readdir(place)) {
    const jail = path.join(place, name);
    if (!name.startsWith(prefix) || !(await isOwn(jail))) continue;
    const roots = path.join(jail, USERS, user);
    // From here on it is in use. It fails where somebody has just begun to remove it.
    if (!(await succeeds(mkdir(roots, { mode: 0o700 })))) continue;
    if (await isWhole(path.join(jail, TEMPLATE), parts)) return jail;
    await rmdir(roots);
  }
  return null;
}

/** Whether it can be believed: this user's, a folder and no link to one, and closed to all others. */
async function isOwn(jail: string): Promise<boolean> {
  const found = await lstat(jail).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === ownIdentity().uid && (found.mode & 0o077) === 0;
}

/** Whether all files are there, whole and writable for nobody else, and nothing besides. */
async function isWhole(template: string, parts: readonly Part[]): Promise<boolean> {
  const entries = await readdir(template, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => !entry.isDirectory());
  if (files.length !== parts.length) return false;
  return (await Promise.all(parts.map((part) => isPartWhole(path.join(template, part.name), part)))).every(Boolean);
}

async function isPartWhole(file: string, { stats, text }: Part): Promise<boolean> {
  const found = await lstat(file).catch(() => null);
  if (!found?.isFile() || (found.mode & OTHERS_WRITE) !== 0 || found.size !== stats.size) return false;
  return text ? text.equals(await readFile(file)) : true;
}

async function buildJail(place: string, prefix: string, user: string, parts: readonly Part[]): Promise<string> {
  const building = await mkdtemp(path.join(place, ownName(BUILDING)));
  const life = await showLife(building);
  for (const { name, source } of parts) {
    const file = path.join(building, TEMPLATE, name);
    await mkdir(path.dirname(file), { recursive: true });
    await placePart(source, file);
  }
  await mkdir(path.join(building, USERS, user), { recursive: true });
  await chmod(building, 0o700);
  await life.end();
  const jail = path.join(place, `${prefix}${path.basename(building).slice(-6)}`);
  await rename(building, jail);
  return jail;
}

/** As a second name of the same file, so that guests share its memory with the service; else as a copy. */
async function placePart(source: string, file: string): Promise<void> {
  const stats = await stat(source);
  const isFit = (stats.mode & (OTHERS_WRITE | 0o005)) === 0o005 && [0, ownIdentity().uid].includes(stats.uid);
  if (isFit && (await succeeds(link(source, file)))) return;
  await copyFile(source, file, constants.COPYFILE_FICLONE);
  await chmod(file, 0o755);
  // Before the jail gets its name: a crash of the machine must not leave a file that only has the right size.
  await using copy = await open(file);
  await copy.sync();
}

/** Removes the jails that no living service uses, and what services that were killed have left in the others. */
async function removeUnused(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const jail = path.join(place, name);
    if (!name.startsWith(JAIL) || !(await isOwn(jail))) continue;
    const users = path.join(jail, USERS);
    for (const user of await readdir(users).catch(() => [])) {
      // Another service may be removing the same at this moment.
      const roots = path.join(users, user);
      if (await isAbandoned(roots, "")) await succeeds(removeTree(roots));
    }
    // The kernel refuses it while anybody has a folder in it, and nobody can have one afterwards.
    const isUnused = (await succeeds(rmdir(users))) || (await lstat(users).catch(() => null)) === null;
    if (isUnused) await succeeds(removeTree(jail));
  }
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
