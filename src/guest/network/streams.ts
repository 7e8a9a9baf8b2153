import { bytesFrame } from "../../wire/frames.ts";
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
import { errorOf } from "./errors.ts";
import { request, u32 } from "./payloads.ts";
import { Scope } from "./scope.ts";

const { parse } = JSON;
const { min } = Math;
const prototype: Buffer = Buffer.prototype;
const copy = uncurry(prototype, "copy");
const readUInt32LE = uncurry(prototype, "readUInt32LE");
const subarray = uncurry(prototype, "subarray");
const toText = uncurry(prototype, "toString");
const allocate = Buffer.allocUnsafeSlow.bind(Buffer);

/** What was read is told to the service when it is as much: a frame for each chunk would cost as much as the chunk. */
const GRANT_BYTES = WINDOW_BYTES / 4;
/** Less of a window is not worth a frame, when more is to be sent. The service never keeps back so much of a window. */
const SLIVER_BYTES = 4_096;

const streams = safeMap<number, Stream>();

/** What becomes of a stream. Called in the context in which the stream was made. */
export interface Sink {
  opened(ends: OpenedMessage): void;
  /** Says whether more may come before `readMore`. */
  received(bytes: Buffer): boolean;
  ended(): void;
  /** The stream is gone. */
  failed(error: Error): void;
}

interface Sending {
  bytes: Uint8Array;
  at: number;
  done: (error?: Error) => void;
}

/** One connection, whose other end the service holds. */
export class Stream {
  readonly #id: number;
  readonly #sink: Sink;
  readonly #scope = new Scope();
  /** What may still be sent. */
  #credit = 0;
  /** What was received and not yet told to the service. */
  #owed = 0;
  /** The sink takes no more for now, so nothing is told. */
  #full = false;
  #sending: Sending | null = null;
  #over = false;
  #holds = false;

  /** Asks the service to connect. */
  constructor(target: OpenMessage, sink: Sink) {
    this.#id = nextStreamId();
    this.#sink = sink;
    streams.set(this.#id, this);
    carrier().send(bytesFrame(FROM_GUEST.open, this.#id, ...request(target)));
  }

  /** Whether the thread lives for as long as this does. */
  keepAlive(does: boolean): void {
    const holds = does && !this.#over;
    if (holds === this.#holds) return;
    this.#holds = holds;
    if (holds) carrier().hold();
    else carrier().release();
  }

  /** Sends as the window allows. Not to be called again before `done`, with which it is over. */
  write(bytes: Uint8Array, done: (error?: Error) => void): void {
    if (this.#over) return done(brokenPipe());
    this.#sending = { bytes, at: 0, done };
    this.#send()?.done();
  }

  /** Nothing more will be sent. */
  end(): void {
    if (!this.#over) carrier().send(bytesFrame(FROM_GUEST.ended, this.#id));
  }

  /** The sink has room again. */
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

  /** @param payload Of a frame of this type; copied where it is kept. */
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
    this.#owed += payload.length + DATA_FRAME_COST_BYTES;
    // A view would keep what came beside it, which is other runs', for as long as a task keeps this.
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

  /** The service counts as this does, and ends a guest that sends more. Gives back what has been sent to its end. */
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
    if (this.#full || this.#over || this.#owed < GRANT_BYTES) return;
    carrier().send(bytesFrame(FROM_GUEST.receiveMore, this.#id, u32(this.#owed)));
    this.#owed = 0;
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

/** Nothing happens when nobody knows the stream: the frames crossed. */
export function onStreamFrame(type: number, id: number, payload: Buffer): void {
  streams.get(id)?.onFrame(type, payload);
}

function brokenPipe(): Error {
  return errorOf({ message: "write EPIPE", code: "EPIPE", errno: -32, syscall: "write" });
}
