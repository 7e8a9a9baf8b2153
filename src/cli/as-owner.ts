import { statSync } from "node:fs";

/**
 * Goes to the folder, and as root becomes its owner for good: what is made there must be the service's, and root follows
 * no link that somebody else may have put there.
 */
export function enterAsOwner(folder: string): void {
  process.chdir(folder);
  const { uid, gid } = statSync(".");
  if (process.getuid?.() !== 0 || uid === 0) return;
  process.setgroups!([]);
  process.setgid!(gid);
  process.setuid!(uid);
}
