import { bytesFrame, numberFrame } from "../../wire/frames.ts";
import {
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  FROM_GUEST,
  type NetworkFault,
  type OpenedMessage,
  type OpenMessage,
  TO_GUEST,
  WINDOW_BYTES,
} from "../../wire/messages.ts";
import { uncurry } from "../../wire/uncurry.ts";
import { safeMap } from "../safe-map.ts";
import { carrier, nextStreamId } from "./carrier.ts";
import { errorOf } from "./network-errors.ts";
import { request } from "./payloads.ts";
import { Scope } from "./scope.ts";

const { parse } = JSON;
const { min } = Math;
const prototype: Buffer = Buffer.prototype;
const copy = uncurry(prototype, "copy");
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const toText = uncurry(prototype, "toString");
const allocate = Buffer.allocUnsafeSlow.bind(Buffer);

/** The read bytes after which a grant is sent to the service. A grant for each chunk would cost as much as the chunk. */
const GRANT_BYTES = WINDOW_BYTES / 4;
/** The smallest partial frame that is sent. The service never withholds this much of a window, so the wait for more ends. */
const SLIVER_BYTES = 4_096;

const streams = safeMap<number, Stream>();

/** Receives the events of a stream, in the asynchronous context that created the stream. */
export interface Sink {
  opened(ends: OpenedMessage): void;
  /** Returns whether the sink accepts more bytes before `readMore`. */
  received(bytes: Buffer): boolean;
  ended(): void;
  /** Called when the connection failed or was reset. */
  failed(error: Error): void;
}

interface Sending {
  bytes: Uint8Array;
  at: number;
  done: (error?: Error) => void;
}

/** One connection that the service makes for the guest. */
export class Stream {
  readonly #id: number;
  readonly #sink: Sink;
  readonly #scope = new Scope();
  /** The bytes that the service still allows to send. */
  #credit = 0;
  /** The received bytes that were not granted again yet. */
  #ungranted = 0;
  /** Whether the sink accepts no more bytes for now. Nothing is granted until it does. */
  #full = false;
  #sending: Sending | null = null;
  /** The run that is charged for the bytes of the stream. */
  #sender = carrier().payer();
  #over = false;
  #holdsThread = false;

  /** Asks the service to connect. */
  constructor(target: OpenMessage, sink: Sink) {
    this.#id = nextStreamId();
    this.#sink = sink;
    streams.set(this.#id, this);
    carrier().send(bytesFrame(FROM_GUEST.open, this.#id, ...request(target)));
  }

  /** Sets whether the open stream keeps the thread alive. */
  keepAlive(keepsAlive: boolean): void {
    const holds = keepsAlive && !this.#over;
    if (holds === this.#holdsThread) return;
    this.#holdsThread = holds;
    if (holds) carrier().hold();
    else carrier().release();
  }

  /**
   * Sends the bytes as the window allows, then calls `done`. Do not call it again before `done`.
   *
   * @param sender the id of the run that sends them, which may use a stream of another run
   */
  write(bytes: Uint8Array, sender: number, done: (error?: Error) => void): void {
    if (this.#over) return done(brokenPipe());
    if (sender !== this.#sender) {
      this.#sender = sender;
      carrier().send(numberFrame(FROM_GUEST.sender, this.#id, sender));
    }
    this.#sending = { bytes, at: 0, done };
    this.#send()?.done();
  }

  /** Ends the sending direction. */
  end(): void {
    if (!this.#over) carrier().send(bytesFrame(FROM_GUEST.ended, this.#id));
  }

  /** Called when the sink accepts bytes again. */
  readMore(): void {
    this.#full = false;
    this.#grant();
  }

  close(): void {
    if (this.#over) return;
    const sending = this.#finish();
    carrier().send(bytesFrame(FROM_GUEST.reset, this.#id));
    sending?.done(brokenPipe());
  }

  /** @param payload The payload of a frame of this type; valid during the call only. */
  onFrame(type: number, payload: Buffer): void {
    switch (type) {
      case TO_GUEST.received:
        return this.#onReceived(payload);
      case TO_GUEST.opened:
        this.#credit += WINDOW_BYTES;
        return this.#onOpened(parse(toText(payload)) as OpenedMessage);
      case TO_GUEST.sendMore:
        this.#credit += readUInt32LE(payload, 0);
        return this.#scope.run(() => this.#send()?.done());
      case TO_GUEST.peerEnded:
        return this.#scope.run(() => this.#sink.ended());
      default:
        return this.#onReset(parse(toText(payload)) as NetworkFault);
    }
  }

  #onOpened(ends: OpenedMessage): void {
    this.#scope.run(() => this.#sink.opened(ends));
  }

  #onReceived(payload: Buffer): void {
    this.#ungranted += payload.length + DATA_FRAME_COST_BYTES;
    // Copied, because a view would give the task the whole buffer, with the bytes of other runs.
    const bytes = allocate(payload.length) as Buffer;
    copy(payload, bytes);
    this.#scope.run(() => {
      this.#full = !this.#sink.received(bytes);
    });
    this.#grant();
  }

  #onReset(fault: NetworkFault): void {
    const sending = this.#finish();
    this.#scope.run(() => sending?.done(errorOf(fault)));
    this.#scope.run(() => this.#sink.failed(errorOf(fault)));
  }

  /** Sends within the credit; the service ends a guest that exceeds it. Returns the write if all its bytes were sent. */
  #send(): Sending | null {
    const sending = this.#sending;
    if (!sending) return null;
    const { bytes } = sending;
    while (sending.at < bytes.length) {
      const left = bytes.length - sending.at;
      const size = min(left, DATA_BYTES, this.#credit - DATA_FRAME_COST_BYTES);
      if (size < min(left, SLIVER_BYTES)) return null;
      const piece = subarray(bytes as Buffer, sending.at, sending.at + size);
      carrier().send(bytesFrame(FROM_GUEST.sent, this.#id, piece));
      this.#credit -= size + DATA_FRAME_COST_BYTES;
      sending.at += size;
    }
    this.#sending = null;
    return sending;
  }

  #grant(): void {
    if (this.#full || this.#over || this.#ungranted < GRANT_BYTES) return;
    carrier().send(numberFrame(FROM_GUEST.receiveMore, this.#id, this.#ungranted));
    this.#ungranted = 0;
  }

  #finish(): Sending | null {
    this.keepAlive(false);
    this.#over = true;
    streams.delete(this.#id);
    const sending = this.#sending;
    this.#sending = null;
    return sending;
  }
}

/** Ignores a frame for a closed stream, because frames can cross. */
export function onStreamFrame(type: number, id: number, payload: Buffer): void {
  streams.get(id)?.onFrame(type, payload);
}

function brokenPipe(): Error {
  return errorOf({ message: "write EPIPE", code: "EPIPE", errno: -32, syscall: "write" });
}
