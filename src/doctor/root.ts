import { stat } from "node:fs/promises";

import { giveUpRoot, isPrivileged, serviceIdentity } from "../sandbox/privilege.ts";
import type { Finding } from "./finding.ts";

/** Gives root up as a start does, for good, where there is any. */
export async function examineRoot(user: string | null, data: string): Promise<Finding> {
  const layer = "root given up";
  if (!isPrivileged()) {
    const uid = process.getuid?.() ?? -1;
    if (uid !== 0) return { layer, state: "held", proof: `user ${uid}: there is nothing to give up` };
    const remedy =
      "start the service as a user, or give root CAP_SETUID, CAP_SETGID, CAP_CHOWN and CAP_KILL to become one";
    return { layer, state: "weak", proof: "this root may not become anybody else", remedy };
  }
  try {
    const exists = await stat(data).catch(() => null);
    // A folder that is not there yet is made by root, whom that of all folders belongs to as well.
    const identity = await serviceIdentity(user, exists ? data : "/");
    giveUpRoot(identity);
    return { layer, state: "held", proof: `done: now user ${identity.uid} with no capability; a launcher keeps it` };
  } catch (error) {
    return { layer, state: "open", proof: (error as Error).message, remedy: "name with --user whom to become" };
  }
}
