import { Problem } from "../errors.ts";
import { formatSize } from "../units.ts";
import type { GuestSlot } from "./guest-slot.ts";
import type { TokenLineage, TokenLoad } from "./token-quotas.ts";

const MIB = 2 ** 20;
/** The memory that a new guest is expected to hold, as the kernel counts it: most of it are pages that all guests share. */
const NEW_GUEST_BYTES = 64 * MIB;
/** The runs of a family end for another family only if their family holds at least this many times as much memory. */
const UNFAIR_FACTOR = 4;

/** What the guests of a token family hold. */
interface Holding {
  readonly head: TokenLoad;
  bytes: number;
  /** The least recently used slot that has a guest and no runs. */
  idle: GuestSlot | null;
  /** The slot with runs that holds the most memory. */
  busiest: GuestSlot | null;
}

/**
 * Chooses the slot whose guests end when the machine is short of memory: an idle slot of the family that holds the most. If
 * all guests of that family are at work, and it holds far more than the family that needs memory, its largest guest ends
 * with its runs. Otherwise a family could keep all memory by always having a run in flight in each of its guests.
 *
 * @param requester the lineage that needs a new guest; null if no run waits. Idle guests of smaller families are not ended
 *   for a requester.
 * @param slots all slots, with the memory of their last measurement
 * @returns the slot, or null if no slot may be closed
 */
export function chooseRelief(requester: TokenLineage | null, slots: Iterable<GuestSlot>): GuestSlot | null {
  const holdings = holdingsOf(slots);
  const ownHead = requester?.head;
  const own = holdings.find(({ head }) => head === ownHead)?.bytes ?? 0;
  const wanted = requester ? own + NEW_GUEST_BYTES : 0;
  const mayGive = ({ head, bytes }: Holding): boolean => head === ownHead || bytes > wanted;
  const giver = holdings.find((each) => each.idle && mayGive(each));
  const needs = Math.max(wanted, giver?.bytes ?? 0);
  const [largest] = holdings;
  const isUnfair = largest && largest.head !== ownHead && needs > 0 && largest.bytes >= needs * UNFAIR_FACTOR;
  if (isUnfair && !largest.idle) return largest.busiest;
  return giver?.idle ?? null;
}

/** Returns the answer to the runs of a guest that ends because its family holds the most memory. */
export function reliefProblem({ owner }: GuestSlot, slots: Iterable<GuestSlot>): Problem {
  const { bytes } = holdingsOf(slots).find(({ head }) => head === owner.head)!;
  const held = `the containers of the token and its relatives hold ${formatSize(wholeMebibytes(bytes))} of it, more than those of any other`;
  return new Problem("task_memory", `the machine is short of memory, and ${held}`, {
    hint: "Keep less data in memory, in fewer containers at a time, or ask the operator for a machine with more memory.",
  });
}

/** Rounds to mebibytes: a figure of the kernel has no round number of them. */
function wholeMebibytes(bytes: number): number {
  return Math.round(bytes / MIB) * MIB;
}

/** Returns what each family holds, the largest first. */
function holdingsOf(slots: Iterable<GuestSlot>): readonly Holding[] {
  const byHead = new Map<TokenLoad, Holding>();
  for (const slot of slots) {
    const { head } = slot.owner;
    let holding = byHead.get(head);
    if (!holding) byHead.set(head, (holding = { head, bytes: 0, idle: null, busiest: null }));
    holding.bytes += slot.memoryBytes;
    if (slot.taken > 0) {
      if (!holding.busiest || slot.memoryBytes > holding.busiest.memoryBytes) holding.busiest = slot;
    } else if (!slot.isCold && (!holding.idle || slot.usedMs < holding.idle.usedMs)) holding.idle = slot;
  }
  return [...byHead.values()].toSorted((one, other) => other.bytes - one.bytes);
}
