import type { ServerResponse } from "node:http";

import { clientSite } from "../client-site.ts";
import { FairShare, type Hold } from "./fair-share.ts";

/**
 * The size up to which an answer is not counted, unless it waits for earlier answers of its connection. The kernel
 * buffers a smaller answer, or the service holds it only for a moment.
 */
const BIG_BYTES = 65_536;
/** The longest time in which a client may read nothing of a counted answer. */
const UNREAD_MS = 30_000;
/**
 * The memory of all answers that clients have not read. It stops clients that request large answers and read slowly.
 */
const unread = new FairShare(256 * 2 ** 20);
/** The owner of each answer to a request with a valid token. */
const owners = new WeakMap<ServerResponse, string>();
/** The answers whose unread bytes their writers limit. */
const selfLimited = new WeakSet<ServerResponse>();

/** Sets the owner whose share of memory an answer uses until the client has read it. */
export function setOwner(response: ServerResponse, owner: string): void {
  owners.set(response, owner);
}

/**
 * Excludes an answer from `holdWrites`, which counts all bytes until the end of the answer. The writer of an endless answer
 * must limit the unread bytes itself.
 */
export function limitsItself(response: ServerResponse): void {
  selfLimited.add(response);
}

/**
 * Counts bytes of an answer that stay in memory until the client reads them.
 *
 * @param cut ends the answer if the memory is full and the owner uses most of it
 * @returns a function that releases the memory
 */
export function holdBytes(owner: string, bytes: number, cut: () => void): () => void {
  const hold = unread.hold(clientSite(owner), cut);
  hold.grow(bytes);
  return () => hold.release();
}

/**
 * Whether Node sends the answer now. Until all earlier answers of the connection have been sent, which may take
 * minutes, the whole answer is in memory. Up to 31 answers may wait on each connection.
 */
function isBeingSent(response: ServerResponse): boolean {
  return response.socket !== null;
}

/**
 * Counts a complete answer until the client has read it, if the answer is big or waits for earlier answers. Cuts the
 * answer if the client reads nothing for `UNREAD_MS`.
 */
export function holdUnread(response: ServerResponse, owner: string, bytes: number): void {
  if (bytes <= BIG_BYTES && isBeingSent(response)) return;
  if (response.destroyed) return;
  mustBeRead(response);
  response.once("close", holdBytes(owner, bytes, cutOf(response)));
}

/**
 * Counts the memory of an answer that is being made, before all of it exists, if the answer is big or waits for earlier
 * answers. The memory is released when the answer has ended.
 *
 * @param owner returns the owner whose share of memory the answer uses
 * @returns adds bytes. Its result is true if the bytes are counted
 */
export function growingHold(response: ServerResponse, owner: () => string): (bytes: number) => boolean {
  let uncounted = 0;
  let hold: Hold | null = null;
  return (bytes) => {
    uncounted += bytes;
    if (response.destroyed) return false;
    if (!hold) {
      if (uncounted <= BIG_BYTES && isBeingSent(response)) return false;
      const added = unread.hold(clientSite(owner()), cutOf(response));
      response.once("close", () => added.release());
      hold = added;
    }
    hold.grow(uncounted);
    uncounted = 0;
    return true;
  };
}

/** Cuts a counted answer if the client reads nothing for `UNREAD_MS` from now on. */
export function mustBeRead(response: ServerResponse): void {
  response.setTimeout(UNREAD_MS, cutOf(response));
}

/**
 * Counts the bytes that other code writes to an answer.
 *
 * @param publicOwner returns the owner of the answer if the request has no valid token
 */
export function holdWrites(response: ServerResponse, publicOwner: () => string): void {
  const grow = growingHold(response, () => owners.get(response) ?? publicOwner());
  let isCounted = false;
  const count = (chunk: unknown): void => {
    if (selfLimited.has(response)) return;
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return;
    if (!grow(chunk.length) || isCounted) return;
    isCounted = true;
    mustBeRead(response);
  };
  for (const method of ["write", "end"] as const) {
    const original = response[method].bind(response) as (...args: unknown[]) => unknown;
    Object.assign(response, {
      [method]: (...args: unknown[]): unknown => {
        count(args[0]);
        return original(...args);
      },
    });
  }
}

function cutOf(response: ServerResponse): () => void {
  return () => void response.req.socket.destroy();
}
