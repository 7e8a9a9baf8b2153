import { createHash } from "node:crypto";

import { ByteCache } from "../byte-cache.ts";
import { Problem } from "../errors.ts";
import { FailedBuilds } from "./failed-builds.ts";
import type { Builder, Loader } from "./model.ts";

/** The bytes of all texts that are kept: a few hundred texts. */
const MAX_BYTES = 16 * 2 ** 20;
/** The overhead of an entry of the cache. It bounds the number of rejected texts. */
const ENTRY_BYTES = 1_024;

interface Making {
  readonly javaScript: Promise<string>;
  /** Aborts when no run waits any more. */
  readonly left: AbortController;
  /** The number of runs that wait, less those that have left. */
  runs: number;
}

type Made = { readonly text: string } | { readonly rejected: Problem };

/** JavaScript that the builder has made from texts, by their digest. A text is made once for all families. */
export class Transforms {
  readonly #transform: Builder["transform"];
  readonly #cache: ByteCache<Made>;
  /** The texts that are being made, by family and digest: the text of a family does not wait in the line of another. */
  readonly #making = new Map<string, Making>();
  /** The texts of families that took too long. A machine may have been busy, so they are tried again later. */
  readonly #failed = new FailedBuilds(() => performance.now());

  constructor(transform: Builder["transform"], maxBytes: number = MAX_BYTES) {
    this.#transform = transform;
    this.#cache = new ByteCache(maxBytes);
  }

  /**
   * As `Builder.transform`. A text is dropped when no run waits for it.
   *
   * @param family the token family that asks; its share of the memory is bounded
   * @param signal aborts when the run no longer waits
   */
  async transform(text: string, loader: Loader, family: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const name = createHash("sha256").update(`${loader}\0${text}`).digest("base64");
    const made = this.#cache.get(name);
    if (made && "rejected" in made) throw made.rejected;
    if (made) return made.text;
    const key = `${family} ${name}`;
    this.#failed.throwIfFailed(key);
    let making = this.#making.get(key);
    if (!making) {
      const left = new AbortController();
      const javaScript = this.#make(name, text, loader, family, left.signal).finally(() => this.#forget(key, making!));
      making = { javaScript, left, runs: 0 };
      this.#making.set(key, making);
    }
    return await this.#wait(key, making, signal);
  }

  async #wait(key: string, making: Making, signal: AbortSignal): Promise<string> {
    const { promise: given, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      making.runs -= 1;
      if (making.runs === 0) {
        this.#forget(key, making);
        making.left.abort(signal.reason);
      }
      reject(signal.reason);
    };
    making.runs += 1;
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([making.javaScript, given]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #forget(key: string, making: Making): void {
    if (this.#making.get(key) === making) this.#making.delete(key);
  }

  async #make(name: string, text: string, loader: Loader, family: string, signal: AbortSignal): Promise<string> {
    try {
      const made = await this.#transform(text, loader, family, signal);
      this.#cache.add(name, { text: made }, 2 * made.length + ENTRY_BYTES, family);
      return made;
    } catch (error) {
      // The same text is at fault again. Any other failure may pass.
      if (error instanceof Problem && error.code === "code_syntax") {
        this.#cache.add(name, { rejected: error }, ENTRY_BYTES, family);
      }
      if (!signal.aborted) this.#failed.note(`${family} ${name}`, error);
      throw error;
    }
  }
}
