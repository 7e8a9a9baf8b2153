import { chmodSync, chownSync, linkSync, mkdirSync } from "node:fs";
import path from "node:path";

import type { Identity } from "../privilege.ts";
import { removeTree } from "../temp/remove-tree.ts";

/** Where a guest lives. */
export interface GuestHome {
  /** The folder that becomes its root, where it gets one. */
  readonly root: string | null;
  /** The one folder that it may write to, as seen from outside. */
  readonly tmp: string;
  /** The user that it is for; null where that is this process's own. */
  readonly owner: Identity | null;
  /** To be called once the guest has ended. Never rejects: what cannot be removed now, the next start removes. */
  remove(): Promise<void>;
}

/**
 * Makes a root for each guest: names for files that all share, and a `/tmp` of its own. Whatever a
 * guest may write lies in a tree that no other has a name for.
 */
export class RootMaker {
  readonly #place: string;
  readonly #files: ReadonlyMap<string, string>;
  readonly #folders: readonly string[];
  #made = 0;

  /** @param files where each lies, by its name in a root. */
  constructor(place: string, files: ReadonlyMap<string, string>) {
    this.#place = place;
    this.#files = files;
    this.#folders = ["", ...foldersOf([...files.keys()]), "tmp"];
  }

  /** At once, because somebody may wait for the guest: it is a millisecond or two. */
  make({ uid, gid }: Identity): GuestHome {
    const root = path.join(this.#place, String(++this.#made));
    for (const folder of this.#folders) makeFolder(path.join(root, folder));
    for (const [name, file] of this.#files) linkSync(file, path.join(root, name));
    const tmp = path.join(root, "tmp");
    chownSync(tmp, uid, gid);
    return { root, tmp, owner: { uid, gid }, remove: () => removeTree(root).catch(ignore) };
  }
}

/** A folder for a guest that sees the host's root. @param identity where it has a user of its own. */
export function makeTmp(place: string, name: string, { uid, gid }: Partial<Identity>): GuestHome {
  const tmp = path.join(place, name);
  mkdirSync(tmp);
  chmodSync(tmp, 0o700);
  const owner = uid === undefined ? null : { uid, gid: gid! };
  if (owner) chownSync(tmp, owner.uid, owner.gid);
  return { root: null, tmp, owner, remove: () => removeTree(tmp).catch(ignore) };
}

/** Open to all who get there, which is the guest alone: what lies above is closed. Set, because a umask may take it. */
function makeFolder(folder: string): void {
  mkdirSync(folder);
  chmodSync(folder, 0o755);
}

/** Each before those in it. */
function foldersOf(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => {
    const names = path.dirname(file).split("/");
    return names.map((_, index) => names.slice(0, index + 1).join("/"));
  });
  return [...new Set(folders)];
}

function ignore(): void {}
