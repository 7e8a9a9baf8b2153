import { mkdir } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "../privilege.ts";
import type { RunFolder } from "../temp/run-folder.ts";
import { type GuestHome, makeTmp } from "./guest-home.ts";
import { makeJail } from "./jail.ts";
import { filesInRoot, filesOnHost, type GuestFiles } from "./policy.ts";

/** Creates the folders of guests. */
export interface Homes {
  /** The paths of the shared files, as guests see them. */
  readonly files: GuestFiles;
  make(identity: Partial<Identity>): GuestHome;
}

/** @throws {Error} if the folders cannot be created. */
export async function openHomes(folder: RunFolder, isJailed: boolean): Promise<Homes> {
  if (isJailed) {
    const jail = await makeJail(folder);
    return { files: filesInRoot(), make: (identity) => jail.makeRoot(identity as Identity) };
  }
  const parent = path.join(folder.path, "guests");
  await mkdir(parent, { mode: 0o755 });
  let made = 0;
  return {
    files: await filesOnHost(folder),
    make: (identity) => makeTmp(parent, String(++made), identity),
  };
}
