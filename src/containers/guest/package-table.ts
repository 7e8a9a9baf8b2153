import { bytesFrame, headOfFrame } from "../../wire/frames.ts";
import { TO_GUEST } from "../../wire/messages.ts";
import { encodePackages } from "../../wire/package-message.ts";

/** The packages that a code may import. */
export interface CodePackages {
  /** A text that identifies the artefact. */
  readonly key: string;
  /** The text of the artefact. Guests share the bytes, so they never change. */
  readonly artefact: Buffer;
}

/** Sends a frame. @param rest the rest of its payload, which is not copied */
export type Send = (frame: Buffer, ...rest: readonly Buffer[]) => void;

/**
 * Returns V8's code cache of packages, or null if there is none yet. Called when they are sent to a guest.
 *
 * @param family the token family of the run
 */
export type CacheOf = (packages: CodePackages, family: string) => Buffer | null;

/** The maximum bytes of all artefacts that a guest holds: a quarter of its default memory. One artefact is always held. */
const MAX_BYTES = 64 * 2 ** 20;

/** The packages that a guest holds. Each artefact is sent once, and then named by an id. The least recently used goes first. */
export class PackageTable {
  readonly #send: Send;
  readonly #cacheOf: CacheOf;
  readonly #beforeForget: (id: number) => void;
  readonly #byKey: Map<string, { readonly id: number; readonly bytes: number }> = new Map();
  #bytes = 0;
  #nextId = 1;

  /** @param beforeForget makes the guest forget the codes that name packages, before it forgets the packages */
  constructor(send: Send, cacheOf: CacheOf, beforeForget: (id: number) => void) {
    this.#send = send;
    this.#cacheOf = cacheOf;
    this.#beforeForget = beforeForget;
  }

  /** Returns the id of packages that a new code names. Sends them if the guest does not hold them. */
  use(packages: CodePackages, family: string): number {
    const { key, artefact } = packages;
    const existing = this.#byKey.get(key);
    if (existing) {
      this.#byKey.delete(key);
      this.#byKey.set(key, existing);
      return existing.id;
    }
    const added = { id: this.#nextId++, bytes: artefact.length };
    this.#byKey.set(key, added);
    this.#bytes += added.bytes;
    while (this.#bytes > MAX_BYTES && this.#byKey.size > 1) this.#forgetOldest();
    const parts = encodePackages(artefact, this.#cacheOf(packages, family));
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#send(headOfFrame(TO_GUEST.packages, added.id, bytes), ...parts);
    return added.id;
  }

  #forgetOldest(): void {
    const [key, { id, bytes }] = this.#byKey.entries().next().value!;
    this.#beforeForget(id);
    this.#byKey.delete(key);
    this.#bytes -= bytes;
    this.#send(bytesFrame(TO_GUEST.forgetPackages, id));
  }
}
