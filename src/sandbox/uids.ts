import { randomInt } from "node:crypto";

/** A range that neither people, nor distributions, nor systemd hand out (systemd's UIDS-GIDS.md). */
const FIRST = 0x7000_0000;
const BLOCK = 0x1_0000;
const BLOCKS = 0x1000;

/**
 * Host user ids for guests. Started as root, every guest gets one of its own, so that a guest that left its namespaces
 * would still be nobody, and a stranger to its neighbours; the block is random, so that two services on one host do not
 * share ids. Started as a user there is only that user.
 */
export function guestUids(): () => { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return () => ({});
  const block = FIRST + BLOCK * randomInt(BLOCKS);
  let next = 0;
  return () => {
    const uid = block + (next++ % BLOCK);
    return { uid, gid: uid };
  };
}
