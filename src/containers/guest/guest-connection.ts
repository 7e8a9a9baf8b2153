import { once } from "node:events";
import type { Socket } from "node:net";

import { OTHER_FRAME_BYTES } from "../../wire/bounds.ts";
import { FrameReader, type OnFrame, Outbox } from "../../wire/frames.ts";
import { FROM_GUEST } from "../../wire/messages.ts";
import { FrameBudget } from "./frame-budget.ts";

/** The maximum time to read what an ended process left in its socket. It usually takes one or two turns of the event loop. */
const END_MS = 1_000;

export interface ConnectionEvents {
  /** Receives a frame of the guest. An error that it throws is passed to `broken`. */
  frame: OnFrame;
  /** The kernel has taken a write at once. */
  taken(): void;
  /** The guest has read enough that more can be sent. */
  drained(): void;
  /** The guest broke the protocol. */
  broken(error: Error): void;
}

/** The service's end of the connection to a guest. */
export class GuestConnection {
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  readonly #budget: FrameBudget = new FrameBudget();
  /** Whether the socket is read to its end, because the process has ended. The rest is at most what a socket holds. */
  #ending = false;
  #closed = false;
  #sent = 0;

  /** @param resultBytes the maximum length of a result's payload. */
  constructor(socket: Socket, resultBytes: number, events: ConnectionEvents) {
    this.#socket = socket;
    this.#outbox = new Outbox((bytes) => {
      // The socket emits no event for a write that the kernel takes at once.
      if (!this.#closed && socket.write(bytes)) events.taken();
    });
    const reader = new FrameReader(
      (type) => (type === FROM_GUEST.result ? resultBytes : OTHER_FRAME_BYTES),
      (type, id, payload) => {
        this.#budget.spend(type, payload.length);
        // A chunk may contain frames after the frame that closed the connection.
        if (!this.#closed) events.frame(type, id, payload);
      },
    );
    socket.on("drain", () => events.drained());
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        events.broken(error as Error);
      }
      if (this.isPaused && !this.#ending) socket.pause();
    });
  }

  /** Whether the guest has spent its frame budget, so that the service does not read it. */
  get isPaused(): boolean {
    return this.#budget.isSpent;
  }

  /** Refills the frame budget, once in a tick. @param paused the number of paused guests. */
  refill(paused: number): void {
    const wasPaused = this.isPaused;
    this.#budget.refill(paused);
    if (wasPaused && !this.isPaused) this.#socket.resume();
  }

  /** The number of bytes that were sent to the guest and that it has not read. */
  get waitingBytes(): number {
    return this.#outbox.waitingBytes + this.#socket.writableLength;
  }

  /** Sends a frame, together with all others of this turn of the event loop. @param rest the rest of its payload */
  push(frame: Buffer, ...rest: readonly Buffer[]): void {
    this.#sent = (this.#sent + 1) >>> 0;
    this.#outbox.push(frame);
    for (const part of rest) this.#outbox.push(part);
  }

  /** Sends a ping, which the guest does not count. */
  pushPing(frame: Buffer): void {
    this.#outbox.push(frame);
  }

  /** The frames except pings that were sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Stops sending and receiving. */
  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  /** Waits until everything was read that the ended process had written. */
  async readToEnd(): Promise<void> {
    if (this.#socket.closed) return;
    this.#ending = true;
    this.#socket.resume();
    const timeout = AbortSignal.timeout(END_MS);
    await once(this.#socket, "close", { signal: timeout }).catch(() => {});
  }
}
