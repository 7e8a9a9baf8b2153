import { randomBytes } from "node:crypto";
import { existsSync, type Stats } from "node:fs";
import { chmod, mkdir, readFile, realpath, stat, writeFile } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "./privilege.ts";
import { giveFolder, refuseLinks } from "./temp/give-folder.ts";

/** The folder for the state of services (file-hierarchy(7)). */
const STATE = "/var/lib/caisson";
/** The file in the data folder with the name of its other folder. */
const HISTORY_ID = "history.id";
const ID = /^[0-9a-f]{16}$/;

/**
 * Returns a folder in which the service's user can open databases after the service has given up root.
 *
 * A relative path reaches the data folder also below a folder that is closed to that user, such as `/root`. SQLite makes every
 * path absolute and looks at each folder on the way, so it can open no file there. Then this is a folder in `/var/lib/caisson`
 * that belongs to the data folder.
 *
 * @param data the data folder, absolute
 * @returns the data folder, or the other folder, absolute
 * @throws {Error} if the other folder cannot be created
 */
export async function reachableFolder(data: string, identity: Identity): Promise<string> {
  const place = await realpath(data);
  if (await maySearchAbove(place, identity)) return data;
  const folder = path.join(STATE, await idOf(place));
  // The user must not choose where root writes, so it gets only the last folder.
  const created = await mkdir(STATE, { recursive: true });
  // The mode of `mkdir` depends on the umask.
  if (created !== undefined) await chmod(STATE, 0o711);
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const { uid: owner } = await stat(folder);
  // The owner of a data folder could name the folder of another service.
  if (owner !== 0 && owner !== identity.uid) throw new Error(`${folder} belongs to another service (user id ${owner})`);
  await refuseLinks(folder);
  await giveFolder(folder, identity);
  return folder;
}

/** Returns the other folder of a data folder, if it has one. */
export async function otherFolder(data: string): Promise<string | null> {
  const id = await readFile(path.join(data, HISTORY_ID), "latin1").catch(() => "");
  const folder = path.join(STATE, id.trim());
  return ID.test(id.trim()) && existsSync(folder) ? folder : null;
}

/** Whether the user can read a file. It ignores access control lists. */
export async function isReadable(file: string, identity: Identity): Promise<boolean> {
  const place = await realpath(file);
  return isPermitted(await stat(place), 4, identity) && (await maySearchAbove(place, identity));
}

/** Returns the name of a data folder's other folder. A data folder that is deleted and created again gets a new name. */
async function idOf(data: string): Promise<string> {
  const file = path.join(data, HISTORY_ID);
  const created = await writeFile(file, randomBytes(8).toString("hex"), { flag: "wx", mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => error,
  );
  if (created && created.code !== "EEXIST") throw created;
  const id = (await readFile(file, "latin1")).trim();
  // The owner of the data folder may have written it, and root must not follow it to another place.
  if (ID.test(id)) return id;
  throw new Error(`${file} does not contain the name of a folder; delete it`);
}

/** Whether the user may search all folders above a folder. It ignores access control lists. */
async function maySearchAbove(folder: string, identity: Identity): Promise<boolean> {
  const above = path.dirname(folder);
  if (!isPermitted(await stat(above), 1, identity)) return false;
  return above === path.dirname(above) || maySearchAbove(above, identity);
}

/** @param right a bit of the mode: 4 to read, 1 to search */
function isPermitted({ mode, uid: owner, gid: group }: Stats, right: number, { uid, gid }: Identity): boolean {
  const shift = owner === uid ? 6 : group === gid ? 3 : 0;
  return ((mode >> shift) & right) !== 0;
}
