import { mkdir } from "node:fs/promises";
import path from "node:path";

import type { Identity } from "../privilege.ts";
import type { RunFolder } from "../temp/run-folder.ts";
import { type GuestHome, makeTmp } from "./guest-home.ts";
import { ESBUILD, makeJail } from "./jail.ts";
import { filesInRoot, filesOnHost, type GuestFiles } from "./policy.ts";

/** Creates the folders of guests. */
export interface Homes {
  /** The paths of the shared files, as guests see them. */
  readonly files: GuestFiles;
  make(identity: Partial<Identity>): GuestHome;
  /** Creates the folders for esbuild. @returns also the path of its binary, as it sees it. @throws {Error} if it is not installed. */
  makeForEsbuild(identity: Partial<Identity>): { readonly home: GuestHome; readonly file: string };
}

/** @throws {Error} if the folders cannot be created. */
export async function openHomes(folder: RunFolder, isJailed: boolean): Promise<Homes> {
  if (isJailed) {
    const jail = await makeJail(folder);
    return {
      files: filesInRoot(),
      make: (identity) => jail.makeRoot(identity as Identity),
      makeForEsbuild: (identity) => ({ home: jail.makeEsbuildRoot(identity as Identity), file: `/${ESBUILD}` }),
    };
  }
  const parent = path.join(folder.path, "guests");
  await mkdir(parent, { mode: 0o755 });
  let made = 0;
  return {
    files: await filesOnHost(folder),
    make: (identity) => makeTmp(parent, String(++made), identity),
    makeForEsbuild: (identity) => {
      const { file } = folder.esbuild();
      return { home: makeTmp(parent, String(++made), identity), file };
    },
  };
}
