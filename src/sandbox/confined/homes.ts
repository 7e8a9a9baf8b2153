import { mkdir } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "../privilege.ts";
import type { RunFolder } from "../temp/run-folder.ts";
import { type GuestHome, makeTmp } from "./guest-home.ts";
import { makeJail } from "./jail.ts";
import { filesInRoot, filesOnHost, type GuestFiles } from "./policy.ts";

/** Where guests live, and what they find there. */
export interface Homes {
  readonly files: GuestFiles;
  make(identity: Partial<Identity>): GuestHome;
}

/** @throws {Error} when they cannot be made. */
export async function openHomes(folder: RunFolder, jailed: boolean): Promise<Homes> {
  if (jailed) {
    const jail = await makeJail(folder);
    return { files: filesInRoot(), make: (identity) => jail.makeRoot(identity as Identity) };
  }
  const place = path.join(folder.path, "guests");
  await mkdir(place, { mode: 0o755 });
  let made = 0;
  return {
    files: await filesOnHost(folder),
    make: (identity) => makeTmp(place, String(++made), identity),
  };
}
