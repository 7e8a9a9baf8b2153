import { chmodSync, chownSync, linkSync, mkdirSync } from "node:fs";
import path from "node:path";

import type { Identity } from "../privilege.ts";
import { removeTree } from "../temp/remove-tree.ts";

/** The folders of one guest on the host. */
export interface GuestHome {
  /** The folder that becomes the guest's root, or null if the guest sees the host's root. */
  readonly root: string | null;
  /** The host path of the only folder that the guest may write to. */
  readonly tmp: string;
  /** The user of the guest, or null if the guest runs as the user of this process. */
  readonly owner: Identity | null;
  /** Removes the folders. Called after the guest has ended. Never rejects: the next start removes what is left. */
  remove(): Promise<void>;
}

/**
 * Creates a root for each guest, with hard links to the shared files and a separate `/tmp`. Everything that a guest can
 * write is in a tree that no other guest can name.
 */
export class RootMaker {
  readonly #parent: string;
  readonly #files: ReadonlyMap<string, string>;
  readonly #folders: readonly string[];
  #made = 0;

  /**
   * @param parent the folder in which roots are created.
   * @param files the host path of each shared file, by its name in a root.
   */
  constructor(parent: string, files: ReadonlyMap<string, string>) {
    this.#parent = parent;
    this.#files = files;
    this.#folders = ["", ...foldersOf([...files.keys()]), "tmp"];
  }

  /** Creates a root synchronously, because a run may be waiting for the guest. This takes one or two milliseconds. */
  make({ uid, gid }: Identity): GuestHome {
    const root = path.join(this.#parent, String(++this.#made));
    for (const folder of this.#folders) makeFolder(path.join(root, folder));
    for (const [name, file] of this.#files) linkSync(file, path.join(root, name));
    const tmp = path.join(root, "tmp");
    chownSync(tmp, uid, gid);
    return { root, tmp, owner: { uid, gid }, remove: () => removeTree(root).catch(ignore) };
  }
}

/** Creates a folder for a guest that sees the host's root. @param identity the guest's separate user, or empty. */
export function makeTmp(parent: string, name: string, { uid, gid }: Partial<Identity>): GuestHome {
  const tmp = path.join(parent, name);
  mkdirSync(tmp);
  chmodSync(tmp, 0o700);
  const owner = uid === undefined ? null : { uid, gid: gid! };
  if (owner) chownSync(tmp, owner.uid, owner.gid);
  return { root: null, tmp, owner, remove: () => removeTree(tmp).catch(ignore) };
}

/** Creates a folder that all users may read; only the guest gets there, because the folders above are closed. */
function makeFolder(folder: string): void {
  mkdirSync(folder);
  // The umask may have removed these rights.
  chmodSync(folder, 0o755);
}

/** Returns all folders of the files; each folder comes before its subfolders. */
function foldersOf(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => {
    const names = path.dirname(file).split("/");
    return names.map((_, index) => names.slice(0, index + 1).join("/"));
  });
  return [...new Set(folders)];
}

function ignore(): void {}
