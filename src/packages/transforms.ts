import { createHash } from "node:crypto";

import { ByteCache } from "../byte-cache.ts";
import { Problem } from "../errors.ts";
import { FailedBuilds } from "./failed-builds.ts";
import type { Builder, Loader } from "./model.ts";

/** The bytes of all texts that are kept: a few hundred texts. */
const MAX_BYTES = 16 * 2 ** 20;
/** The overhead of an entry of the cache. It bounds the number of rejected texts. */
const ENTRY_BYTES = 1_024;

type Made = { readonly text: string } | { readonly rejected: Problem };

/** JavaScript that the builder has made from texts, by their digest. A text is made once for all families. */
export class Transforms {
  readonly #transform: Builder["transform"];
  readonly #cache: ByteCache<Made>;
  readonly #making = new Map<string, Promise<string>>();
  /** The texts that took too long. A machine may have been busy, so they are tried again later. */
  readonly #failed = new FailedBuilds(() => performance.now());

  constructor(transform: Builder["transform"], maxBytes: number = MAX_BYTES) {
    this.#transform = transform;
    this.#cache = new ByteCache(maxBytes);
  }

  /** As `Builder.transform`. @param family the token family that asks; its share of the memory is bounded */
  async transform(text: string, loader: Loader, family: string): Promise<string> {
    const name = createHash("sha256").update(`${loader}\0${text}`).digest("base64");
    const made = this.#cache.get(name);
    if (made && "rejected" in made) throw made.rejected;
    if (made) return made.text;
    this.#failed.throwIfFailed(name);
    let making = this.#making.get(name);
    if (!making) {
      making = this.#make(name, text, loader, family).finally(() => this.#making.delete(name));
      this.#making.set(name, making);
    }
    return await making;
  }

  async #make(name: string, text: string, loader: Loader, family: string): Promise<string> {
    try {
      const made = await this.#transform(text, loader, family);
      this.#cache.add(name, { text: made }, 2 * made.length + ENTRY_BYTES, family);
      return made;
    } catch (error) {
      // The same text is at fault again. Any other failure may pass.
      if (error instanceof Problem && error.code === "code_syntax") {
        this.#cache.add(name, { rejected: error }, ENTRY_BYTES, family);
      }
      this.#failed.note(name, error);
      throw error;
    }
  }
}
