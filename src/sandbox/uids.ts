import { randomInt } from "node:crypto";

import { highestId, type Identity, isPrivileged } from "./privilege.ts";

/** The first id of a range that administrators, distributions and systemd do not assign (systemd's UIDS-GIDS.md). */
const FIRST = 0x7000_0000;
const BLOCK = 0x1_0000;
const BLOCKS = 0x1000;
/** The block in a user namespace that maps few ids, such as a rootless container: the upper half of the usual 65 536. */
const SMALL_BLOCK = 0x8000;

/**
 * Returns a function that returns the host user id for the next guest. A privileged process gives each guest a separate
 * id, so that a guest that left its namespaces would still have no access to the host or to other guests. The block is
 * random, so that two services on one host do not share ids. Without privileges all guests have the user of this process.
 */
export function guestUids(): () => Partial<Identity> {
  if (!isPrivileged()) return () => ({});
  const isWhole = highestId() >= FIRST + BLOCK * BLOCKS - 1;
  const size = isWhole ? BLOCK : SMALL_BLOCK;
  const block = isWhole ? FIRST + BLOCK * randomInt(BLOCKS) : highestId() - SMALL_BLOCK;
  let next = isWhole ? 0 : randomInt(SMALL_BLOCK);
  return () => {
    const uid = block + (next++ % size);
    return { uid, gid: uid };
  };
}
