import type { GuestSlot } from "./guest-slot.ts";
import type { TokenLineage, TokenLoad } from "./token-quotas.ts";

/** A guest that was used within this time is not evicted for an owner that would then be larger than its own. */
const RECENT_USE_MS = 10_000;

/**
 * Chooses the slot that is closed to make room for a new slot: the least recently used slot of the owner with the most
 * slots. A slot that has runs is never chosen.
 *
 * A slot that was used just now is chosen only for an owner that would not have more slots than its own. So a client that
 * opens a thousand containers closes its own containers, and not the warm containers of other clients.
 *
 * @param requester the lineage that needs the room
 * @returns the slot, or null if no slot may be closed.
 */
export function chooseEviction(requester: TokenLineage, slots: Iterable<GuestSlot>, nowMs: number): GuestSlot | null {
  let found: GuestSlot | null = null;
  let foundSize = 0;
  for (const each of slots) {
    if (each.taken > 0) continue;
    const { head } = each.owner;
    const own = head === requester.head;
    const size = head.live + (own ? 1 : 0);
    if (!own && size <= requester.head.live && nowMs - each.usedMs < RECENT_USE_MS) continue;
    if (found && (size < foundSize || (size === foundSize && each.usedMs >= found.usedMs))) continue;
    found = each;
    foundSize = size;
  }
  return found;
}

/**
 * Returns the least recently used slot that counts for a token and has no runs.
 *
 * @param isPublic whether only slots count that runs without a token opened
 */
export function leastRecentOf(
  load: TokenLoad,
  slots: Iterable<GuestSlot>,
  isPublic: boolean = false,
): GuestSlot | null {
  return leastRecent(slots, (each) => each.owner.members.includes(load) && (each.isPublic || !isPublic));
}

/** Returns the least recently used slot that passes the filter and has no runs. */
export function leastRecent(
  slots: Iterable<GuestSlot>,
  filter: (each: GuestSlot) => boolean = () => true,
): GuestSlot | null {
  let found: GuestSlot | null = null;
  for (const each of slots) {
    if (each.taken === 0 && filter(each) && (!found || each.usedMs < found.usedMs)) found = each;
  }
  return found;
}
