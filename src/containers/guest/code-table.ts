import { createHash } from "node:crypto";

import { type CodeMessage, encodeCode } from "../../wire/code-message.ts";
import { bytesFrame } from "../../wire/frames.ts";
import { ANSWERS_BY, type AnswersBy, TO_GUEST } from "../../wire/messages.ts";
import { type CacheOf, type CodePackages, PackageTable, type Send } from "./package-table.ts";

/** Submitted code with a key that identifies it. */
export interface Code extends Omit<CodeMessage, "packagesId"> {
  readonly key: string;
  readonly packages?: CodePackages | null;
}

export interface KnownCode {
  readonly id: number;
  /** Whether the guest has reported the members below. */
  isCompiled: boolean;
  /** False when the guest has reported that this code never reads its context. The service then does not create it. */
  needsContext: boolean;
  /** As the guest reports it. It can be forged, so it is used only for a hint. */
  answersBy: AnswersBy;
}

/** The maximum length of a source that is its own key. For a longer source, a digest takes less memory and little time. */
const LITERAL_BYTES = 512;
const MAX_CODES = 1_000;
const MAX_BYTES = 32 * 2 ** 20;

/**
 * Returns the code with its unique key. The key of a short source is the source in Latin-1, the cheapest encoding. The key
 * of a longer source is its SHA-256, so that the service does not hold the sources that its guests hold.
 */
export function codeOf(message: (Omit<Code, "key"> & { source: Buffer }) | Code): Code {
  if ("key" in message) return message;
  const { source, typescript, modules, lastValue = false, packages = null } = message;
  const mark =
    (typescript ? "\u{100}" : "") + (lastValue ? "\u{102}" : "") + (packages ? `\u{103}${packages.key}` : "");
  if (!modules && source.length <= LITERAL_BYTES) {
    // Latin-1 ends at U+00FF, so the mark beyond it cannot be forged by the source.
    return { ...message, key: source.toString("latin1") + mark };
  }
  const digest = createHash("sha256").update(source);
  // The length marks where the source ends, because the source may contain this text too.
  if (modules) digest.update(`\0${source.length}\0${JSON.stringify(modules)}`);
  // Without a further mark, a source without modules that ends with this text would have the key of the shorter source.
  return { ...message, key: `${modules ? "\u{104}" : "\u{101}"}${digest.digest("base64")}${mark}` };
}

/** The codes that a guest holds. Each is sent once, and then named by an id. The oldest is forgotten first. */
export class CodeTable {
  readonly #send: Send;
  readonly #byKey: Map<string, HeldCode> = new Map();
  readonly #byId: Map<number, KnownCode> = new Map();
  readonly #packages: PackageTable;
  #bytes = 0;
  #nextId = 1;

  constructor(send: Send, cacheOf: CacheOf = () => null) {
    this.#send = send;
    this.#packages = new PackageTable(send, cacheOf, (packagesId) => this.#forgetCodesWith(packagesId));
  }

  /** @param family the token family of the run */
  use(code: Code, family: string = ""): KnownCode {
    const existing = this.#byKey.get(code.key);
    if (existing) return existing;
    const packagesId = code.packages ? this.#packages.use(code.packages, family) : 0;
    const parts = encodeCode({ ...code, packagesId });
    const added = {
      id: this.#nextId++,
      needsContext: true,
      answersBy: ANSWERS_BY[0],
      isCompiled: false,
      bytes: code.source.length,
      packagesId,
    };
    this.#byKey.set(code.key, added);
    this.#byId.set(added.id, added);
    this.#bytes += added.bytes;
    while (this.#byKey.size > MAX_CODES || (this.#bytes > MAX_BYTES && this.#byKey.size > 1)) this.#forgetOldest();
    this.#send(bytesFrame(TO_GUEST.code, added.id, ...parts));
    return added;
  }

  /**
   * Takes what the guest reports of a code.
   *
   * @param payload the payload of a `compiled` frame.
   * @returns false if the code is unknown or was reported before. A guest may change its report, but not thousands of times
   * a second.
   */
  compiled(id: number, payload: Buffer): boolean {
    const known = this.#byId.get(id);
    if (!known) return false;
    const isFirst = !known.isCompiled;
    known.isCompiled = true;
    known.needsContext = payload[0] !== 0;
    known.answersBy = ANSWERS_BY[payload[1] ?? 0] ?? "value";
    return isFirst;
  }

  #forgetOldest(): void {
    const [key, oldest] = this.#byKey.entries().next().value!;
    this.#forget(key, oldest);
  }

  #forgetCodesWith(packagesId: number): void {
    for (const [key, held] of this.#byKey) if (held.packagesId === packagesId) this.#forget(key, held);
  }

  #forget(key: string, { id, bytes }: HeldCode): void {
    this.#byKey.delete(key);
    this.#byId.delete(id);
    this.#bytes -= bytes;
    this.#send(bytesFrame(TO_GUEST.forget, id));
  }
}

interface HeldCode extends KnownCode {
  readonly bytes: number;
  readonly packagesId: number;
}
