import { createHash } from "node:crypto";

import { ByteCache } from "../byte-cache.ts";
import { FailedBuilds } from "./failed-builds.ts";
import type { Builder, Rejection, Text } from "./model.ts";

/** The bytes of all texts that are kept: a few hundred texts. */
const MAX_BYTES = 16 * 2 ** 20;
/** The overhead of an entry of the cache. It bounds the number of rejected texts. */
const ENTRY_BYTES = 1_024;

/** The time in which another run may still ask for a text, after the last one that waited for it has left. In a guest only one run at a time asks. */
const LEFT_MS = 1_000;

interface Making {
  readonly made: Promise<readonly string[] | Rejection>;
  /** Aborts when no run waits any more. */
  readonly left: AbortController;
  /** The number of runs that wait, less those that have left. */
  runs: number;
}

type Made = { readonly text: string } | Pick<Rejection, "rejected">;

/**
 * JavaScript that the builder has made from texts, by the family of the code and their digest. Families share none of it: the time of a
 * run would show whether another family has the same text, and a builder that one text has taken over would decide what another becomes.
 */
export class Transforms {
  readonly #transform: Builder["transform"];
  readonly #cache: ByteCache<Made>;
  /** The texts that are being made, by family and digest: the texts of a family do not wait in the line of another. */
  readonly #making = new Map<string, Making>();
  /** The texts of families that took too long. A machine may have been busy, so they are tried again later. */
  readonly #failed = new FailedBuilds(() => performance.now());

  constructor(transform: Builder["transform"], maxBytes: number = MAX_BYTES) {
    this.#transform = transform;
    this.#cache = new ByteCache(maxBytes);
  }

  /**
   * As `Builder.transform`, in one order for all texts that are not made yet. They are dropped a second after no run waits for them.
   *
   * @param family the token family that asks; its share of the memory is bounded
   * @param signal aborts when the run no longer waits
   */
  async transform(texts: readonly Text[], family: string, signal: AbortSignal): Promise<readonly string[] | Rejection> {
    signal.throwIfAborted();
    const names = texts.map((text) => nameOf(text, family));
    const known = names.map((name) => this.#cache.get(name));
    const at = known.findIndex((made) => made && "rejected" in made);
    if (at >= 0) return { ...(known[at] as Pick<Rejection, "rejected">), at };
    const missing = texts.flatMap((_, index) => (known[index] ? [] : [index]));
    if (missing.length === 0) return known.map((made) => (made as { text: string }).text);
    const key = `${family} ${createHash("sha256")
      .update(missing.map((index) => names[index]!).join())
      .digest("base64")}`;
    this.#failed.throwIfFailed(key);
    let making = this.#making.get(key);
    if (!making) {
      const left = new AbortController();
      const order = missing.map((index) => texts[index]!);
      const made = this.#make(key, order, family, left.signal).finally(() => this.#forget(key, making!));
      making = { made, left, runs: 0 };
      this.#making.set(key, making);
    }
    const made = await this.#wait(key, making, signal);
    if ("rejected" in made) return { ...made, at: missing[made.at]! };
    const places = new Map(missing.map((index, place) => [index, place]));
    return known.map((each, index) => (each ? (each as { text: string }).text : made[places.get(index)!]!));
  }

  async #wait(key: string, making: Making, signal: AbortSignal): Making["made"] {
    const { promise: given, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      making.runs -= 1;
      if (making.runs === 0) setTimeout(() => this.#dropUnused(key, making), LEFT_MS).unref();
      reject(signal.reason);
    };
    making.runs += 1;
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([making.made, given]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #dropUnused(key: string, making: Making): void {
    if (making.runs > 0) return;
    this.#forget(key, making);
    making.left.abort(new Error("no run waits for the text"));
  }

  #forget(key: string, making: Making): void {
    if (this.#making.get(key) === making) this.#making.delete(key);
  }

  async #make(key: string, texts: readonly Text[], family: string, signal: AbortSignal): Making["made"] {
    try {
      const made = await this.#transform(texts, family, signal);
      if ("rejected" in made) {
        // The same text is at fault again.
        this.#cache.add(nameOf(texts[made.at]!, family), { rejected: made.rejected }, ENTRY_BYTES, family);
      } else {
        for (const [index, text] of made.entries()) {
          this.#cache.add(nameOf(texts[index]!, family), { text }, 2 * text.length + ENTRY_BYTES, family);
        }
      }
      return made;
    } catch (error) {
      if (!signal.aborted) this.#failed.note(key, error);
      throw error;
    }
  }
}

function nameOf({ text, loader }: Text, family: string): string {
  return `${family} ${createHash("sha256").update(`${loader}\0${text}`).digest("base64")}`;
}
