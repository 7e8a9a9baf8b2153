import { readSync } from "node:fs";
import { Socket } from "node:net";
import { Duplex, Readable } from "node:stream";

import { FrameReader, type OnFrame, Outbox } from "../wire/frames.ts";
import { TO_GUEST } from "../wire/messages.ts";
import { freeBytes } from "./free-bytes.ts";

/** The file descriptor of the guest's end of the socket pair. */
const DESCRIPTOR = 3;
/** The service's frames are trusted. This limit only stops a corrupt length from using up the memory. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** The service reads some megabytes in 50 ms, or in 500 ms on a busy machine. */
const CLOSE_MS = 5_000;
/** Node reads so many bytes at once, each time into new memory. */
const READ_BYTES = 65_536;

// Saved now, because a task can replace the originals.
const immediate = setImmediate;
const later = setTimeout;
const readNow = readSync;
const { get: unreadOf } = Object.getOwnPropertyDescriptor(Readable.prototype, "readableLength") as {
  get: () => number;
};
const { get: lengthOf } = Object.getOwnPropertyDescriptor(Duplex.prototype, "writableLength") as { get: () => number };

let outbox: Outbox | null = null;
let flush: (() => void) | null = null;
let onBeforeSend: (() => Buffer | null) | null = null;
let end: (() => void) | null = null;
let ending = false;
let waitingBytes = (): number => 0;
let hold = (): unknown => undefined;
let release = (): unknown => undefined;
let received = 0;

/** Queues one frame for the service. All frames of an event-loop turn go in one write. */
export function send(frame: Buffer): void {
  outbox?.push(frame);
}

/** Writes the queued frames now, as far as the kernel accepts them. */
export function flushLink(): void {
  flush?.();
}

/** Whether the kernel has accepted all flushed frames. */
export function isFlushed(): boolean {
  return waitingBytes() === 0;
}

/** The frames of the service, except pings, that this guest has received. */
export function framesReceived(): number {
  return received;
}

/** Lets the event loop end if nothing but the link keeps it alive. */
export function releaseLoop(): void {
  release();
}

/** Makes the link keep the event loop alive again. */
export function holdLoop(): void {
  hold();
}

/** Calls `step` once, before the queued frames are written. The frame that it returns goes first. */
export function beforeSend(step: () => Buffer | null): void {
  onBeforeSend = step;
}

/**
 * Closes the link after all queued frames are written. The `closed` event follows when the service has read them and closed
 * its end. If the process ended before that, the service could lose the rest: a failed write to a closed socket stops it
 * from reading what is left.
 *
 * @param onTimeout Called when the service has not closed its end after `CLOSE_MS`.
 */
export function closeLink(onTimeout: () => void): void {
  later(onTimeout, CLOSE_MS);
  immediate(() => {
    // After an uncaught exception, Node delays the tick in which the outbox would write.
    flush?.();
    ending = true;
    end?.();
  });
}

export interface LinkEvents {
  frame: OnFrame;
  /** All frames of one read were delivered. */
  idle: () => void;
  closed: () => void;
}

/** Opens the socket to the service. */
export function openLink(events: LinkEvents): void {
  const reader = new FrameReader(
    MAX_PAYLOAD_BYTES,
    (type, id, payload) => {
      if (type !== TO_GUEST.ping) received = (received + 1) >>> 0;
      events.frame(type, id, payload);
    },
    { isTrusted: true, free: freeBytes },
  );
  const socket = new Socket({ fd: DESCRIPTOR, readable: true, writable: true });
  const write = socket.write.bind(socket);
  end = socket.end.bind(socket);
  waitingBytes = lengthOf.bind(socket);
  outbox = new Outbox((bytes) => {
    // A write after the end is an error, which discards the bytes that wait.
    if (ending) return;
    const frame = onBeforeSend?.();
    onBeforeSend = null;
    if (frame) write(frame);
    write(bytes);
  });
  const unreadBytes = unreadOf.bind(socket);
  flush = outbox.flush;
  hold = socket.ref.bind(socket);
  release = socket.unref.bind(socket);
  socket.on("data", (chunk: Buffer) => {
    reader.push(chunk);
    freeBytes(chunk);
    // A chunk that Node still holds comes first.
    if (unreadBytes() === 0) readOn(reader);
    events.idle();
  });
  // "close" follows a broken pipe. Without this listener, the error would look like an uncaught error of a task.
  socket.on("error", () => {});
  socket.on("close", events.closed);
}

/**
 * Reads what the socket has of a long frame into its place. A chunk of Node would be copied from new memory, and most of the time in which
 * a guest receives packages is for memory that is used for the first time.
 */
function readOn(reader: FrameReader): void {
  for (let rest = reader.rest(READ_BYTES); rest; rest = reader.rest(READ_BYTES)) {
    let bytes = 0;
    try {
      bytes = readNow(DESCRIPTOR, rest, 0, rest.length, null);
    } catch {
      // Nothing is there yet. Node reads what comes next, and sees an end.
    }
    if (bytes === 0) return;
    reader.written(bytes);
  }
}
