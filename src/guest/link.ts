import { Socket } from "node:net";
import { Duplex } from "node:stream";

import { FrameReader, type OnFrame, Outbox } from "../wire/frames.ts";

/** The inherited end of the socket pair. */
const DESCRIPTOR = 3;
/** The service's frames are trusted; this only keeps a broken length from eating the memory. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** Some megabytes are read in a hundredth of it, on a busy machine in a tenth. */
const CLOSE_MS = 5_000;

// Taken now: a task can replace them.
const immediate = setImmediate;
const later = setTimeout;
const { get: lengthOf } = Object.getOwnPropertyDescriptor(Duplex.prototype, "writableLength") as { get: () => number };

let outbox: Outbox | null = null;
let flush: (() => void) | null = null;
let urgent: (() => Buffer | null) | null = null;
let end: (() => void) | null = null;
let ending = false;
let waitingBytes = (): number => 0;

/** Queues one frame for the service; all frames of an event-loop turn leave in one write. */
export function send(frame: Buffer): void {
  outbox?.push(frame);
}

/** Has what is queued leave now, as far as the kernel takes it. */
export function flushLink(): void {
  flush?.();
}

/** Whether the kernel has taken all that was queued and told to leave. */
export function hasLeft(): boolean {
  return waitingBytes() === 0;
}

/** Has `step` called once, before what is queued leaves; the frame that it gives goes in front. */
export function beforeLeaving(step: () => Buffer | null): void {
  urgent = step;
}

/**
 * Closes the link when all that was queued has left, which is told as `closed` when the service has read it and closes its
 * own end. A process that ends before that may cost it the rest: who writes to an end that is gone reads no more of it.
 *
 * @param late is called when it takes too long.
 */
export function closeLink(late: () => void): void {
  later(late, CLOSE_MS);
  immediate(() => {
    // After a throw that nobody caught, Node puts off what the outbox waits for.
    flush?.();
    ending = true;
    end?.();
  });
}

export interface LinkEvents {
  frame: OnFrame;
  /** All frames of one read were handed over. */
  idle: () => void;
  closed: () => void;
}

/** Opens the socket to the service. */
export function openLink(events: LinkEvents): void {
  const socket = new Socket({ fd: DESCRIPTOR, readable: true, writable: true });
  const write = socket.write.bind(socket);
  end = socket.end.bind(socket);
  waitingBytes = lengthOf.bind(socket);
  outbox = new Outbox((bytes) => {
    // It would be an error, which costs what waits.
    if (ending) return;
    const frame = urgent?.();
    urgent = null;
    if (frame) write(frame);
    write(bytes);
  });
  flush = outbox.flush;
  const reader = new FrameReader(MAX_PAYLOAD_BYTES, events.frame);
  socket.on("data", (chunk: Buffer) => {
    reader.push(chunk);
    events.idle();
  });
  // A broken pipe is followed by "close"; without a listener it would look like a task's own uncaught error.
  socket.on("error", () => {});
  socket.on("close", events.closed);
}
