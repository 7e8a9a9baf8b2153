import type { ServerResponse } from "node:http";

import { FairShare, type Hold } from "./fair-share.ts";

/** Of an answer. Less is held by the kernel, or for a moment, if no other answer of the connection comes before it. */
const BIG_BYTES = 65_536;
/** Of silence on the connection of an answer that is not read. */
const UNREAD_MS = 30_000;
/** Of all answers together that their clients have not read: a client may take its time. */
const unread = new FairShare(256 * 2 ** 20);
/** Whose memory the answer to a request takes, where a token was accepted. */
const owners = new WeakMap<ServerResponse, string>();

/** Says whose memory an answer takes until it is read. */
export function answerTo(response: ServerResponse, owner: string): void {
  owners.set(response, owner);
}

/**
 * Counts bytes of an answer that are held in memory until its client reads them.
 *
 * @param cut ends the answer: its owner has the most of a memory that is full.
 * @returns what gives the memory back.
 */
export function holdBytes(owner: string, bytes: number, cut: () => void): () => void {
  const hold = unread.hold(owner, cut);
  hold.grow(bytes);
  return hold.release;
}

/**
 * Whether the answer has its turn on the connection. Until the answers to earlier requests have been sent, which may take
 * minutes, all of it is in memory, and there may be 31 of them on each connection.
 */
function hasTurn(response: ServerResponse): boolean {
  return response.socket !== null;
}

/** Counts an answer that is made, if it is big or has to wait for others, until it is read. It is cut after 30 s in which nothing of it was read. */
export function holdUnread(response: ServerResponse, owner: string, bytes: number): void {
  if (bytes <= BIG_BYTES && hasTurn(response)) return;
  if (response.destroyed) return;
  const cut = (): void => void response.req.socket.destroy();
  response.setTimeout(UNREAD_MS, cut);
  response.once("close", holdBytes(owner, bytes, cut));
}

/** Counts what others write to an answer. @param stranger whose memory it takes where no token was accepted. */
export function holdWhatIsWritten(response: ServerResponse, stranger: () => string): void {
  let bytes = 0;
  let hold: Hold | null = null;
  const count = (chunk: unknown): void => {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return;
    bytes += chunk.length;
    if (bytes <= BIG_BYTES && hasTurn(response)) return;
    if (response.destroyed) return;
    if (!hold) {
      const cut = (): void => void response.req.socket.destroy();
      response.setTimeout(UNREAD_MS, cut);
      hold = unread.hold(owners.get(response) ?? stranger(), cut);
      response.once("close", hold.release);
    }
    hold.grow(chunk.length);
  };
  for (const method of ["write", "end"] as const) {
    const original = response[method].bind(response) as (...words: unknown[]) => unknown;
    Object.assign(response, {
      [method]: (...words: unknown[]): unknown => {
        count(words[0]);
        return original(...words);
      },
    });
  }
}
