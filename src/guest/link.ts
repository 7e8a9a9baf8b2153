import { Socket } from "node:net";

import { FrameReader, type OnFrame, Outbox } from "../wire/frames.ts";

/** The inherited end of the socket pair. */
const DESCRIPTOR = 3;
/** The service's frames are trusted; this only keeps a broken length from eating the memory. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

let outbox: Outbox | null = null;
let flush: (() => void) | null = null;
let urgent: (() => Buffer | null) | null = null;
let end: ((done: () => void) => void) | null = null;
let waitingBytes = (): number => 0;

/** Queues one frame for the service; all frames of an event-loop turn leave in one write. */
export function send(frame: Buffer): void {
  outbox?.push(frame);
}

/** Has what is queued leave now, as far as the kernel takes it. @returns whether it took all. */
export function flushLink(): boolean {
  flush?.();
  return waitingBytes() === 0;
}

/** Has `step` called once, before what is queued leaves; the frame that it gives goes in front. */
export function beforeLeaving(step: () => Buffer | null): void {
  urgent = step;
}

/** Calls `done` when all that was queued has left. */
export function closeLink(done: () => void): void {
  setImmediate(() => {
    // After a throw that nobody caught, Node puts off what the outbox waits for.
    flush?.();
    if (end) end(done);
    else done();
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
  waitingBytes = () => socket.writableLength;
  outbox = new Outbox((bytes) => {
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
