import { randomInt } from "node:crypto";

import { highestId, type Identity, isPrivileged } from "./privilege.ts";

/** A range that neither people, nor distributions, nor systemd hand out (systemd's UIDS-GIDS.md). */
const FIRST = 0x7000_0000;
const BLOCK = 0x1_0000;
const BLOCKS = 0x1000;
/** In a user namespace that maps few ids, such as that of a rootless container: the upper half of the usual 65 536. */
const SMALL_BLOCK = 0x8000;

/**
 * Host user ids for guests. Started as root, every guest gets one of its own, so that a guest that left its namespaces
 * would still be nobody, and a stranger to its neighbours; the block is random, so that two services on one host do not
 * share ids. Started as a user there is only that user.
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
