import { stat } from "node:fs/promises";

import type { Finding } from "../finding.ts";
import { giveUpRoot, isPrivileged, serviceIdentity } from "../sandbox/privilege.ts";

/** Gives up root permanently, as a start does, if this process has it. */
export async function examineRoot(user: string | null, data: string): Promise<Finding> {
  const layer = "root given up";
  if (!isPrivileged()) {
    const uid = process.getuid?.() ?? -1;
    if (uid !== 0) return { layer, state: "held", proof: `user ${uid}: there is nothing to give up` };
    const remedy =
      "start the service as a user, or give root CAP_SETUID, CAP_SETGID, CAP_CHOWN and CAP_KILL to become one";
    return { layer, state: "weak", proof: "this root may not change to another user", remedy };
  }
  try {
    const exists = await stat(data).catch(() => null);
    // If the folder does not exist, a start creates it as root. `/` also belongs to root, so it gives the same result.
    const identity = await serviceIdentity(user, exists ? data : "/");
    giveUpRoot(identity);
    const proof = `done: now user ${identity.uid} without capabilities; a launcher keeps root`;
    return { layer, state: "held", proof };
  } catch (error) {
    return { layer, state: "open", proof: (error as Error).message, remedy: "name another user with --user" };
  }
}
