import { FairQueue } from "../fair-queue.ts";
import { EgressDenied } from "./denied.ts";
import type { Asker, NameResolver } from "./resolve-names.ts";

export interface NameBounds {
  /** The maximum number of names that are resolved at a time. */
  readonly most: number;
  /** The maximum number of these of one token family. */
  readonly mostOfFamily: number;
  /** The time that a name may wait for its turn, in milliseconds. */
  readonly waitMs: number;
}

/**
 * A name takes two queries, and c-ares searches an unused number of 16 bits for each query. With 65,536 queries in flight the search
 * never ends, and stops the whole service. A name whose servers never answer is in flight for 14 seconds and longer, also if
 * its task no longer waits. So there are far fewer queries than numbers, and a token family has a small part of them.
 */
const BOUNDS: NameBounds = { most: 4_096, mostOfFamily: 256, waitMs: 5_000 };

/**
 * Limits the names that are resolved at a time. Further names wait, and token families take turns. A name has its turn until its
 * resolver has ended, also if its caller no longer waits, because its queries continue.
 *
 * @returns a resolver that throws {EgressDenied} if a name has waited too long for its turn
 */
export function nameTurns(names: NameResolver, { most, mostOfFamily, waitMs }: NameBounds = BOUNDS): NameResolver {
  const queue = new FairQueue(most, mostOfFamily);
  return async (name, asker: Asker = NOBODY) => {
    const wait = new AbortController();
    const leave = (): void => wait.abort(asker.signal!.reason);
    const late = (): void => {
      const why = `waited ${waitMs / 1_000} s for a name lookup; at most ${mostOfFamily} of one token family are in progress`;
      wait.abort(new EgressDenied(name, "limit", why));
    };
    asker.signal?.throwIfAborted();
    asker.signal?.addEventListener("abort", leave, { once: true });
    const timer = setTimeout(late, waitMs).unref();
    const stopWaiting = (): void => {
      clearTimeout(timer);
      asker.signal?.removeEventListener("abort", leave);
    };
    try {
      return await queue.run(
        asker.family,
        () => {
          stopWaiting();
          return names(name, asker);
        },
        wait.signal,
      );
    } finally {
      stopWaiting();
    }
  };
}

const NOBODY: Asker = { family: "" };
