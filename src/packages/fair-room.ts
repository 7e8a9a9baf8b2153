import type { KeptArtefact } from "./package-store.ts";

/** What artefacts take of the disk. */
export interface Room {
  readonly bytes: number;
  readonly count: number;
}

interface Holding {
  bytes: number;
  count: number;
  readonly oldestFirst: KeptArtefact[];
}

/**
 * Chooses the artefacts that families with the most give up for another family, the least recently used first. A family gives up only
 * while it holds more than the other one would have, and never its last artefact. So a few families that take all they may leave room
 * to each other family, and no two families displace each other in turns. What no run has used for long goes first, from any family.
 *
 * @param oldestFirst all artefacts. Artefacts of administrators stay, because the operator decides about the disk.
 * @param family the family that asks; null for an administrator. Each family gives up what an administrator needs
 * @param added what the family adds
 * @param missing what must be given up
 * @param whole the bounds for all families
 * @param unusedSince the time from which on an artefact was used lately, in Unix milliseconds
 * @returns the keys of the artefacts; none if they would not be enough
 */
export function givenUp(
  oldestFirst: Iterable<KeptArtefact>,
  family: string | null,
  added: Room,
  missing: Room,
  whole: Room,
  unusedSince: number,
): string[] {
  const shareOf = ({ bytes, count }: Room): number => Math.max(bytes / whole.bytes, count / whole.count);
  const keys: string[] = [];
  const left = { ...missing };
  const isEnough = (): boolean => left.bytes <= 0 && left.count <= 0;
  const holdings = new Map<string, Holding>();
  for (const artefact of oldestFirst) {
    if (artefact.family === null) continue;
    if (artefact.family !== family && artefact.usedAt < unusedSince && !isEnough()) {
      left.bytes -= artefact.bytes;
      left.count -= 1;
      keys.push(artefact.key);
      continue;
    }
    const holding = holdings.get(artefact.family) ?? { bytes: 0, count: 0, oldestFirst: [] };
    holdings.set(artefact.family, holding);
    holding.bytes += artefact.bytes;
    holding.count += 1;
    holding.oldestFirst.push(artefact);
  }
  const own = (family !== null && holdings.get(family)) || { bytes: 0, count: 0 };
  const ownShare = family === null ? 0 : shareOf({ bytes: own.bytes + added.bytes, count: own.count + added.count });
  if (family !== null) holdings.delete(family);
  while (!isEnough()) {
    let largest: Holding | null = null;
    for (const each of holdings.values()) {
      if (each.count > 1 && (!largest || shareOf(each) > shareOf(largest))) largest = each;
    }
    if (!largest || shareOf(largest) <= ownShare) return [];
    const oldest = largest.oldestFirst.shift()!;
    largest.bytes -= oldest.bytes;
    largest.count -= 1;
    left.bytes -= oldest.bytes;
    left.count -= 1;
    keys.push(oldest.key);
  }
  return keys;
}
