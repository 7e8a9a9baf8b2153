import type { ServerResponse } from "node:http";

import { FairShare } from "./fair-share.ts";

/** Of an answer. Less is held by the kernel, or for a moment. */
const BIG_BYTES = 65_536;
/** Of silence on the connection of an answer that is not read. */
const UNREAD_MS = 30_000;
/** Of all answers together that their clients have not read: a client may take its time. */
const unread = new FairShare(256 * 2 ** 20);
/** Whose memory the answer to a request takes, where a token was accepted. */
const holders = new WeakMap<ServerResponse, string>();

/** Says whose memory an answer takes until it is read. */
export function answerTo(response: ServerResponse, holder: string): void {
  holders.set(response, holder);
}

/**
 * Counts bytes of an answer that are held in memory until its client reads them.
 *
 * @param cut ends the answer: its holder has the most of a memory that is full.
 * @returns what gives the memory back.
 */
export function holdBytes(holder: string, bytes: number, cut: () => void): () => void {
  const hold = unread.hold(holder, cut);
  hold.grow(bytes);
  return hold.release;
}

/** Counts an answer that is made, if it is big, until it is read. It is cut after 30 s in which nothing of it was read. */
export function holdUnread(response: ServerResponse, holder: string, bytes: number): void {
  if (bytes <= BIG_BYTES) return;
  const cut = (): void => void response.destroy();
  response.setTimeout(UNREAD_MS, cut);
  response.once("close", holdBytes(holder, bytes, cut));
}

/** Counts what others write to an answer, when it has been made. @param stranger whose memory it takes without a token. */
export function holdWhenMade(response: ServerResponse, stranger: () => string): void {
  const end = response.end.bind(response) as (...words: unknown[]) => ServerResponse;
  response.end = (...words: unknown[]) => {
    const ended = end(...words);
    const bytes = response.writableLength;
    if (bytes > BIG_BYTES) holdUnread(response, holders.get(response) ?? stranger(), bytes);
    return ended;
  };
}
