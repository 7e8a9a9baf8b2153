import { statSync } from "node:fs";

import type { CreateFile } from "../data-lock.ts";

/**
 * Goes to the folder, and as root becomes its owner for good: what is made there must be the service's, and root
 * follows no link that somebody else may have put there.
 *
 * @param begin is done just before, when private folders on the way can still be passed, and gives what is returned.
 *   What it makes in the folder it makes by its argument, as the owner.
 */
export function enterAsOwner<T>(folder: string, begin: (made: CreateFile) => T): T {
  process.chdir(folder);
  const { uid, gid } = statSync(".");
  if (process.getuid?.() !== 0 || uid === 0) return begin((make) => make());
  process.setgroups!([]);
  const begun = begin((make) => {
    process.setegid!(gid);
    process.seteuid!(uid);
    try {
      make();
    } finally {
      process.seteuid!(0);
      process.setegid!(0);
    }
  });
  process.setgid!(gid);
  process.setuid!(uid);
  return begun;
}
