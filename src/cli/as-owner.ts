import { statSync } from "node:fs";

import type { CreateFile } from "../data-lock.ts";

/**
 * Enters the folder, and, as root, becomes its owner permanently. New files there must belong to the service, and root
 * must not follow a link that another user may have planted there.
 *
 * @param begin runs as root before the change of user, because only root may pass private parent folders. It creates
 *   files in the folder with its argument, as the owner. Its return value is returned.
 */
export function enterAsOwner<T>(folder: string, begin: (createFile: CreateFile) => T): T {
  process.chdir(folder);
  const { uid, gid } = statSync(".");
  if (process.getuid?.() !== 0 || uid === 0) return begin((create) => create());
  process.setgroups!([]);
  const result = begin((create) => {
    process.setegid!(gid);
    process.seteuid!(uid);
    try {
      create();
    } finally {
      process.seteuid!(0);
      process.setegid!(0);
    }
  });
  process.setgid!(gid);
  process.setuid!(uid);
  return result;
}
