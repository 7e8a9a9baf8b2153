import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { guestUids } from "./uids.ts";

export const INSTALL_BUBBLEWRAP = "on Debian and Ubuntu: sudo apt-get install -y bubblewrap";

/** @returns the path of bubblewrap. @throws {Error} if it is not on the PATH. */
export async function findBubblewrap(): Promise<string> {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const found = await realpath(path.join(folder, "bwrap")).catch(() => null);
    if (found) return found;
  }
  throw new Error(`bubblewrap is not installed; ${INSTALL_BUBBLEWRAP}`);
}

/** Returns bubblewrap's version as it prints it, such as `bubblewrap 0.8.0`. */
export async function bubblewrapVersion(bwrap: string): Promise<string> {
  return (await promisify(execFile)(bwrap, ["--version"])).stdout.trim();
}

/**
 * Creates the namespaces of a guest, as a guest's user, and a mount in them.
 *
 * @throws {Error} with bubblewrap's message if it fails.
 */
export async function tryNamespaces(bwrap: string): Promise<void> {
  const identity = guestUids()();
  const kinds = ["--unshare-user", "--disable-userns", "--unshare-all"];
  const args = [...kinds, "--ro-bind", "/", "/", "--", bwrap, "--version"];
  try {
    await promisify(execFile)(bwrap, args, { cwd: "/", ...identity });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(stderr?.trim().split("\n")[0] || message, { cause: error });
  }
}
