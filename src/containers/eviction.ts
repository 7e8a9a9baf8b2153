import type { GuestSlot } from "./guest-slot.ts";
import type { TokenLineage, TokenLoad } from "./token-quotas.ts";

/** A guest used within so long stays warm for a small holder, whoever wants its room. */
const SPARED_MS = 10_000;

/**
 * Which slot makes room for one more: of the largest holder the one that nobody has used for the longest time.
 *
 * Never one at work. One that was used just now goes only for a holder that would not be larger than its own: whoever walks
 * through a thousand names walks over his own containers, and no neighbour finds his cold.
 *
 * @param asking is who wants the room, or null when the machine does.
 * @returns null when there is none.
 */
export function roomFor(asking: TokenLineage | null, among: Iterable<GuestSlot>, nowMs: number): GuestSlot | null {
  let found: GuestSlot | null = null;
  let foundSize = 0;
  for (const each of among) {
    if (each.taken > 0) continue;
    const { head } = each.holder;
    const own = head === asking?.head;
    const size = head.live + (own ? 1 : 0);
    if (asking && !own && size <= asking.head.live && nowMs - each.usedMs < SPARED_MS) continue;
    if (found && (size < foundSize || (size === foundSize && each.usedMs >= found.usedMs))) continue;
    found = each;
    foundSize = size;
  }
  return found;
}

/**
 * The one of a holder's own that nobody has used for the longest time and that is not at work.
 *
 * @param isPublic whether only slots count that runs without a token opened
 */
export function ownRoom(load: TokenLoad, among: Iterable<GuestSlot>, isPublic: boolean = false): GuestSlot | null {
  return leastRecent(among, (each) => each.holder.members.includes(load) && (each.isPublic || !isPublic));
}

/** The one that nobody has used for the longest time and that is not at work. */
export function leastRecent(
  among: Iterable<GuestSlot>,
  counts: (each: GuestSlot) => boolean = () => true,
): GuestSlot | null {
  let found: GuestSlot | null = null;
  for (const each of among) {
    if (each.taken === 0 && counts(each) && (!found || each.usedMs < found.usedMs)) found = each;
  }
  return found;
}
