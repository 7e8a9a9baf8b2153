import { statSync } from "node:fs";

import { createAs, type CreateFile } from "../data-lock.ts";

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
  const result = begin(createAs(uid, gid));
  process.setgid!(gid);
  process.setuid!(uid);
  return result;
}
