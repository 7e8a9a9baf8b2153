import { createHash } from "node:crypto";

import { bytesFrame } from "../../wire/frames.ts";
import { ANSWERS_BY, type AnswersBy, type CodeMessage, encodeCode, TO_GUEST } from "../../wire/messages.ts";

/** Submitted code with the text that tells it from all others. */
export interface Code extends CodeMessage {
  readonly key: string;
}

export interface KnownCode {
  readonly id: number;
  /** Whether the guest has reported what follows. */
  isCompiled: boolean;
  /** False once the guest has said that this code never reads its context, which then need not be made. */
  needsContext: boolean;
  /** As the guest says; to be believed for a hint and no more. */
  answersBy: AnswersBy;
}

/** Beyond it a digest is cheaper to keep, and not much dearer to make. */
const LITERAL_BYTES = 512;
const MAX_CODES = 1_000;
const MAX_BYTES = 32 * 2 ** 20;

/**
 * @returns the code under a key that no other code has: a short text as it is, in Latin-1, which is the cheapest; of a
 * longer one the SHA-256, so that the service does not hold what its guests hold.
 */
export function codeOf(message: CodeMessage & { source: Buffer }): Code {
  const { source, typescript, modules } = message;
  if (!modules && source.length <= LITERAL_BYTES) {
    // Latin-1 ends at U+00FF, so the mark beyond it cannot be forged by the source.
    const text = source.toString("latin1");
    return { ...message, key: typescript ? `${text}\u{100}` : text };
  }
  const digest = createHash("sha256").update(source);
  // The length tells where the source ends, so that no source can pass for another with modules.
  if (modules) digest.update(`\0${source.length}\0${JSON.stringify(modules)}`);
  return { ...message, key: `\u{101}${digest.digest("base64")}${typescript}` };
}

/** The codes that a guest holds. Each is sent once and named by an id after that; the oldest is forgotten first. */
export class CodeTable {
  readonly #send: (frame: Buffer) => void;
  readonly #byKey: Map<string, KnownCode & { bytes: number }> = new Map();
  readonly #byId: Map<number, KnownCode> = new Map();
  #bytes = 0;
  #nextId = 1;

  constructor(send: (frame: Buffer) => void) {
    this.#send = send;
  }

  use(code: Code): KnownCode {
    const known = this.#byKey.get(code.key);
    if (known) return known;
    const parts = encodeCode(code);
    const added = {
      id: this.#nextId++,
      needsContext: true,
      answersBy: ANSWERS_BY[0],
      isCompiled: false,
      bytes: code.source.length,
    };
    this.#byKey.set(code.key, added);
    this.#byId.set(added.id, added);
    this.#bytes += added.bytes;
    while (this.#byKey.size > MAX_CODES || (this.#bytes > MAX_BYTES && this.#byKey.size > 1)) this.#forgetOldest();
    this.#send(bytesFrame(TO_GUEST.code, added.id, ...parts));
    return added;
  }

  /**
   * @param payload of a `compiled` frame.
   * @returns false if the code is not known or was reported before: a code may change what it needs, but not thousands of
   * times a second.
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
    this.#byKey.delete(key);
    this.#byId.delete(oldest.id);
    this.#bytes -= oldest.bytes;
    this.#send(bytesFrame(TO_GUEST.forget, oldest.id));
  }
}
