import { chownSync, statSync } from "node:fs";
import path from "node:path";

import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { type Home, makeHome } from "./service.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** A user id that no user of the system has. */
const USER = 54_321;

/** Creates a home of a user that is not root. A service that this user starts has no launcher. */
export async function makeUserHome(): Promise<Home & { uid: number }> {
  const home = { ...(await makeHome()), uid: USER };
  chownSync(path.dirname(home.data), USER, USER);
  chownSync(home.tmp, USER, USER);
  return home;
}

/**
 * Why another user cannot start a service here, or false. The other user cannot read a checkout below a private
 * folder.
 */
export function whyNoUser(): string | false {
  if (!isPrivileged()) return "only root can start a service as another user";
  for (let folder = ROOT; folder !== "/"; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & 0o005) !== 0o005) return "the checkout lies below a private folder";
  }
  return false;
}
