import { bytesFrame } from "../wire/frames.ts";
import { type CodeMessage, encodeCode, TO_GUEST } from "../wire/messages.ts";

/** Submitted code with the text that tells it from all others. */
export interface Code extends CodeMessage {
  readonly key: string;
}

export interface KnownCode {
  readonly id: number;
  /** False once the guest has said that this code never reads its context, which then need not be made. */
  needsContext: boolean;
}

const MAX_CODES = 1_000;
const MAX_BYTES = 32 * 2 ** 20;

/** @returns the code under a key that no other code has: the bytes as Latin-1, which is their cheapest exact text. */
export function codeOf(message: CodeMessage & { source: Buffer }): Code {
  const text = message.source.toString("latin1");
  // Latin-1 ends at U+00FF, so a mark beyond it cannot be forged by the source.
  const modules = message.modules ? `\u{100}${JSON.stringify(message.modules)}` : "";
  return { ...message, key: message.typescript || modules ? `${text}\u{101}${message.typescript}${modules}` : text };
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
    const added = { id: this.#nextId++, needsContext: true, bytes: 2 * code.key.length };
    this.#byKey.set(code.key, added);
    this.#byId.set(added.id, added);
    this.#bytes += added.bytes;
    while (this.#byKey.size > MAX_CODES || (this.#bytes > MAX_BYTES && this.#byKey.size > 1)) this.#forgetOldest();
    this.#send(bytesFrame(TO_GUEST.code, added.id, ...parts));
    return added;
  }

  compiled(id: number, needsContext: boolean): void {
    const known = this.#byId.get(id);
    if (known) known.needsContext = needsContext;
  }

  #forgetOldest(): void {
    const [key, oldest] = this.#byKey.entries().next().value!;
    this.#byKey.delete(key);
    this.#byId.delete(oldest.id);
    this.#bytes -= oldest.bytes;
    this.#send(bytesFrame(TO_GUEST.forget, oldest.id));
  }
}
