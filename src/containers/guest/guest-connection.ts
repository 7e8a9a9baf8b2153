import { once } from "node:events";
import type { Socket } from "node:net";

import { OTHER_FRAME_BYTES } from "../../wire/bounds.ts";
import { FrameReader, type OnFrame, Outbox } from "../../wire/frames.ts";
import { FROM_GUEST } from "../../wire/messages.ts";
import { FrameBudget } from "./frame-budget.ts";

/** The bytes that an ended process has left in a socket are read in a turn or two of the event loop. */
const END_MS = 1_000;

export interface LineEvents {
  /** A frame of the guest. What it throws is what `broken` gets. */
  frame: OnFrame;
  /** The kernel has taken what was sent, at once. */
  taken(): void;
  /** The guest has read so much that more can be sent. */
  drained(): void;
  /** The guest broke the protocol. */
  broken(error: Error): void;
}

/** The service's end of the frames between it and a guest. */
export class GuestConnection {
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  readonly #budget: FrameBudget = new FrameBudget();
  /** Read to its end, because the process has ended: what is left is what a socket holds. */
  #ending = false;
  #closed = false;

  /** @param resultBytes the most that the payload of a result may have. */
  constructor(socket: Socket, resultBytes: number, events: LineEvents) {
    this.#socket = socket;
    this.#outbox = new Outbox((bytes) => {
      // What the kernel takes at once is followed by no event.
      if (!this.#closed && socket.write(bytes)) events.taken();
    });
    const reader = new FrameReader(
      (type) => (type === FROM_GUEST.result ? resultBytes : OTHER_FRAME_BYTES),
      (type, id, payload) => {
        this.#budget.spend(type, payload.length);
        // What came with the frame that was its end.
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

  /** Whether the guest has sent more than it may for now, and is not read. */
  get isPaused(): boolean {
    return this.#budget.isSpent;
  }

  /** Gives the guest more to send, once in a tick. @param paused how many guests are paused. */
  refill(paused: number): void {
    const wasPaused = this.isPaused;
    this.#budget.refill(paused);
    if (wasPaused && !this.isPaused) this.#socket.resume();
  }

  /** Bytes that the guest was sent and has not read. */
  get waitingBytes(): number {
    return this.#outbox.waitingBytes + this.#socket.writableLength;
  }

  /** Sends a frame, with all others of this turn of the event loop. */
  push(frame: Buffer): void {
    this.#outbox.push(frame);
  }

  /** Nothing is sent or heard any more. */
  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  /** Waits until all was read that the other end has written, which has ended. */
  async readToEnd(): Promise<void> {
    if (this.#socket.closed) return;
    this.#ending = true;
    this.#socket.resume();
    const late = AbortSignal.timeout(END_MS);
    await once(this.#socket, "close", { signal: late }).catch(() => {});
  }
}
