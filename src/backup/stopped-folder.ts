import { existsSync, realpathSync, statSync } from "node:fs";

import { createAs, lockDataFolder } from "../data-lock.ts";
import { refuseLostPart } from "../data-parts.ts";
import { openCounts } from "../limits/stores/embedded/open-files.ts";
import { otherFolder } from "../sandbox/reachable-folder.ts";
import { refuseLinks } from "../sandbox/temp/give-folder.ts";
import { type BackupSource, CopiedDatabases } from "./backup-source.ts";
import { refuseUnfinishedRestore } from "./unfinished-restore.ts";

export interface StoppedFolder extends Disposable {
  readonly source: BackupSource;
}

export interface StoppedPlaces {
  /** The data folder. */
  readonly data: string;
  /** The file of the signing keys, absolute, if it is not in the folder. */
  readonly keys: string | null;
  readonly secretsKey: string | null;
  /** This release. */
  readonly release: string;
}

/**
 * Locks a data folder that no service uses, for a backup. This process enters the folder, as a start of the service by root
 * does, and stays there.
 *
 * @throws {Error} if another process uses the folder, it has lost a part, or root finds a link in it.
 */
export async function lockStopped({ data, keys, secretsKey, release }: StoppedPlaces): Promise<StoppedFolder> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await refuseLinks(realpathSync(data));
  const { uid, gid } = statSync(data);
  process.chdir(data);
  // The lock must belong to the user of the service, which locks it at the next start.
  const lock = lockDataFolder(".", data, isRoot ? createAs(uid, gid) : undefined);
  try {
    refuseUnfinishedRestore(".", data);
    // A backup without it would take the place of one that has it.
    await refuseLostPart(".", data);
    const databases = new CopiedDatabases(".", false, false);
    const history = existsSync("runs") ? "." : ((await otherFolder(".")) ?? ".");
    const source = {
      ...{ release, folder: ".", history, databases },
      keys: keys ?? "keys.json",
      secretsKey: secretsKey ?? "secrets.key",
      counts: () => (existsSync("limits") ? openCounts("limits", null) : []),
    };
    return { source, [Symbol.dispose]: () => lock.release() };
  } catch (error) {
    lock.release();
    throw error;
  }
}
