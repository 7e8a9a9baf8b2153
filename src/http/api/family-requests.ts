import type { ServerResponse } from "node:http";

import { Problem } from "../../errors.ts";

/** A request under way. It ends when its work has ended and its connection no longer waits for the answer. */
interface Hold {
  parts: number;
  readonly end: () => void;
}

/**
 * The requests of all families from which on a family may only have its share of them, as a multiple of what one family may
 * have: an answer may have four megabytes.
 */
const FAMILIES = 4;

/** The requests under way by their answers. */
const holds = new WeakMap<ServerResponse, Hold>();

/**
 * Limits the requests of a token family to the HTTP API that are under way. Many answers are made in turns of the event loop,
 * and all answers that a family waits for grow at the same time, up to megabytes each.
 */
export class FamilyRequests {
  readonly #most: number;
  readonly #counts = new Map<string, number>();
  #all = 0;

  /** @param most the most requests of a family, with those that it waits for no more */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {Problem} `token_limited` if the family has too many requests under way */
  begin(family: string, answer: ServerResponse): void {
    const count = this.#counts.get(family) ?? 0;
    const families = this.#counts.size + (count > 0 ? 0 : 1);
    const all = FAMILIES * this.#most;
    if (count >= this.#most || (count > 0 && this.#all >= all && count >= all / families)) {
      const detail = `the token family has ${count} requests to the API under way, which is the maximum`;
      throw new Problem("token_limited", detail, {
        hint: "Send the next request when an earlier one was answered. The operator sets --family-requests.",
        retryAfterMs: 1_000,
      });
    }
    this.#counts.set(family, count + 1);
    this.#all += 1;
    // The client may have left while its token was verified. Its answer then closes no more.
    const isClosed = answer.destroyed;
    holds.set(answer, { parts: isClosed ? 1 : 2, end: () => this.#leave(family) });
    if (!isClosed) answer.once("close", () => endPart(answer));
  }

  #leave(family: string): void {
    this.#all -= 1;
    const left = this.#counts.get(family)! - 1;
    if (left === 0) this.#counts.delete(family);
    else this.#counts.set(family, left);
  }
}

/** Ends a request whose answer is a stream: streams have another limit. */
export function endCount(answer: ServerResponse): void {
  const hold = holds.get(answer);
  holds.delete(answer);
  hold?.end();
}

/** Called when the work of a request has ended, and when its answer is closed. */
export function endPart(answer: ServerResponse): void {
  const hold = holds.get(answer);
  if (!hold) return;
  hold.parts -= 1;
  if (hold.parts === 0) endCount(answer);
}
