import { chownSync, statSync } from "node:fs";
import path from "node:path";

import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { type Home, makeHome } from "./service.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** Nobody in particular. */
const USER = 54_321;

/** A home of a user that is not root, who starts the service: it then has no launcher. */
export async function makeUserHome(): Promise<Home & { uid: number }> {
  const home = { ...(await makeHome()), uid: USER };
  chownSync(path.dirname(home.data), USER, USER);
  chownSync(home.tmp, USER, USER);
  return home;
}

/** Why a service cannot be started as somebody else; a checkout below a private folder can be read by nobody else. */
export function whyNoUser(): string | false {
  if (!isPrivileged()) return "only root can start a service as somebody else";
  for (let folder = ROOT; folder !== "/"; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & 0o005) !== 0o005) return "the checkout lies below a private folder";
  }
  return false;
}
