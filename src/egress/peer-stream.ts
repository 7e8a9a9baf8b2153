import { connect, Socket } from "node:net";
import type { Duplex } from "node:stream";

import { formatDuration } from "../units.ts";
import { bytesFrame, numberFrame, textFrame } from "../wire/frames.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, type NetworkFault, TO_GUEST, WINDOW_BYTES } from "../wire/messages.ts";
import type { Budget } from "./budgets.ts";
import { CONNECT_MS, FLUSH_MS } from "./egress-limits.ts";
import { type Attempt, denial, failure, timedOut } from "./faults.ts";
import type { PortHold } from "./local-ports.ts";
import { routeTo } from "./route.ts";
import { endsOf } from "./stream-ends.ts";

/** The functions that a stream uses of its gateway. */
export interface StreamOwner {
  /** Sends a frame to the guest. */
  push(frame: Buffer): void;
  /** Sends data of a peer to the guest. The stream calls it only within `sendOne`, because there may be much data. */
  pushData(frame: Buffer): void;
  /** Called when the stream has data for the guest. The gateway calls `sendOne` when the guest has room. */
  ready(stream: Stream): void;
  /** Counts bytes of the stream, in either direction. @returns the fault if they exceed the budget, or null. */
  charge(stream: Stream, bytes: number, direction: "bytesSent" | "bytesReceived"): NetworkFault | null;
  /**
   * Counts bytes that wait for the peer; negative if they no longer wait. @returns the fault if too many wait, or null.
   */
  hold(stream: Stream, bytes: number): NetworkFault | null;
  /** Called when the stream has ended and holds no resources. */
  gone(stream: Stream): void;
}

/** The number of delivered bytes after which the guest gets room in its window back. */
const GIVE_BACK_BYTES = WINDOW_BYTES / 4;
/** The minimum size of a frame if more data waits. The guest frees its window in large pieces, so waiting pays off. */
const LEAST_BYTES = 4_096;
/** The read-ahead buffer of a socket. It is small, because the guest's window keeps a connection busy. */
const READ_AHEAD_BYTES = 16_384;

/**
 * The service's end of one connection of a guest. It translates between frames and a socket, with a window in each
 * direction.
 *
 * Its methods that receive frames throw if the guest breaks the protocol.
 */
export class Stream {
  readonly id: number;
  readonly attempt: Attempt;
  /** The run that requested the stream, whose open connections include it. */
  readonly opener: Budget;
  /** The last run that sent on it, whose budget its bytes use. */
  payer: Budget;
  readonly sinceMs: number = performance.now();
  readonly #timeMs: number;
  readonly #owner: StreamOwner;
  #socket: Duplex | null = null;
  #ports: PortHold | null = null;
  #isOpen = false;
  /** Whether the guest receives no more frames of this stream. */
  #isDetached = false;
  #ended = false;
  /** Whether this side ended its data before the peer did. */
  #endedFirst = false;
  /** The bytes that the guest may still send. */
  #sendWindow = WINDOW_BYTES;
  /** The bytes that the peer took and that were not yet added to the guest's window. */
  #taken = 0;
  /** The bytes for which the guest still has room. */
  #receiveWindow = WINDOW_BYTES;
  #corked = false;
  #abandoned: AbortController | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param timeMs the time limit of the connection attempt, and again of the established connection. */
  constructor(id: number, attempt: Attempt, opener: Budget, timeMs: number, owner: StreamOwner) {
    this.id = id;
    this.attempt = attempt;
    this.opener = opener;
    this.payer = opener;
    this.#timeMs = timeMs;
    this.#owner = owner;
  }

  /** Aborts when the stream has ended. */
  get abandoned(): AbortSignal {
    return (this.#abandoned ??= new AbortController()).signal;
  }

  /** Starts the time limit for DNS and for the connection. */
  begin(): void {
    this.#after(Math.min(CONNECT_MS, this.#timeMs), () => this.fail(timedOut(this.attempt)));
  }

  /** Connects to the first address that answers. */
  dial(hold: PortHold, port: number): void {
    if (this.#isDetached) return hold.release(false);
    this.#ports = hold;
    const route = routeTo(hold.addresses, port, CONNECT_MS);
    const options = { ...route, allowHalfOpen: true, noDelay: true, highWaterMark: READ_AHEAD_BYTES };
    const socket = connect(options);
    this.#socket = socket;
    socket.on("connect", () => {
      hold.connected(socket.remoteAddress);
      this.#open(socket);
    });
    socket.on("error", (error) => this.fail(failure(error, this.attempt)));
    socket.on("close", () => this.#release());
  }

  /** Connects to a stream of this process. It is closed with the guest's connection. */
  join(inside: Duplex): void {
    if (this.#isDetached) return void inside.destroy();
    this.#socket = inside;
    inside.on("error", (error) => this.fail(failure(error, this.attempt)));
    inside.on("close", () => {
      // A kernel's socket reports an error before it closes early; other streams may not.
      if (inside.readableEnded) this.#release();
      else this.fail(BROKEN);
    });
    this.#open(inside);
    // It may have data already.
    this.#owner.ready(this);
  }

  /** Receives bytes for the peer. */
  sent(payload: Buffer): void {
    const cost = payload.length + DATA_FRAME_COST_BYTES;
    const socket = this.#mustTakeMore();
    this.#sendWindow -= cost;
    if (payload.length > DATA_BYTES || this.#sendWindow < 0) throw new Error("data beyond the stream's window");
    const fault = this.#owner.charge(this, payload.length, "bytesSent") ?? this.#owner.hold(this, cost);
    if (fault) return this.fail(fault);
    this.#cork(socket);
    // A copy, because the payload is a view of a larger buffer that it would retain.
    socket.write(new Uint8Array(payload), () => this.#wasTaken(cost));
  }

  /** Receives more room of the guest. */
  receiveMore(bytes: number): void {
    this.#mustBeOpen();
    if (bytes === 0) throw new Error("a window of zero bytes");
    this.#receiveWindow += bytes;
    if (this.#receiveWindow > WINDOW_BYTES) throw new Error("more window than was used");
    this.#owner.ready(this);
  }

  /** Receives the end of the guest's data. */
  end(): void {
    const socket = this.#mustTakeMore();
    this.#ended = true;
    this.#endedFirst = !socket.readableEnded;
    socket.end();
  }

  /** Receives a reset of the guest. Data that was sent before still reaches the peer, as from a closed socket. */
  reset(): void {
    this.#isDetached = true;
    const socket = this.#socket;
    if (socket === null || isConnecting(socket) || socket.writableLength === 0) return this.destroy();
    if (socket instanceof Socket) socket.destroySoon();
    else socket.end(() => socket.destroy());
    this.#after(FLUSH_MS, () => this.destroy());
  }

  /** Ends the stream and sends the reason to the guest. */
  fail(fault: NetworkFault): void {
    if (!this.#isDetached) this.#owner.push(textFrame(TO_GUEST.peerReset, this.id, JSON.stringify(fault)));
    this.destroy();
  }

  /** Ends the stream at once without a frame to the guest. */
  destroy(): void {
    this.#isDetached = true;
    this.#socket?.destroy();
    this.#release();
  }

  /** Sends one frame of received data to the guest if there is room. @returns whether it could send another. */
  sendOne(): boolean {
    const socket = this.#socket;
    if (this.#isDetached || socket === null) return false;
    const waiting = socket.readableLength;
    if (waiting === 0) return this.#noticeEnd(socket);
    const room = this.#receiveWindow - DATA_FRAME_COST_BYTES;
    if (room < Math.min(waiting, LEAST_BYTES)) return false;
    const bytes = socket.read(Math.min(waiting, room, DATA_BYTES)) as Buffer | null;
    if (bytes === null) return false;
    const fault = this.#owner.charge(this, bytes.length, "bytesReceived");
    if (fault) {
      this.fail(fault);
      return false;
    }
    this.#receiveWindow -= bytes.length + DATA_FRAME_COST_BYTES;
    this.#owner.pushData(bytesFrame(TO_GUEST.received, this.id, bytes));
    return socket.readableLength > 0 || this.#noticeEnd(socket);
  }

  #open(socket: Duplex): void {
    if (this.#isDetached) return;
    this.#isOpen = true;
    this.#after(this.#timeMs, () => this.fail(denial(this.attempt, this.#timeLimitReason())));
    this.#owner.push(textFrame(TO_GUEST.opened, this.id, JSON.stringify(endsOf(socket))));
    socket.on("readable", () => this.#owner.ready(this));
    // Node emits "end" only after all data has been read.
    socket.on("end", () => {
      if (!this.#isDetached) this.#owner.push(bytesFrame(TO_GUEST.peerEnded, this.id));
    });
  }

  /** A Node stream detects its end at a read without data, and not when its last bytes are read. */
  #noticeEnd(socket: Duplex): false {
    socket.read(0);
    return false;
  }

  #mustBeOpen(): Duplex {
    if (!this.#isOpen) throw new Error("the stream is not open yet");
    return this.#socket!;
  }

  #mustTakeMore(): Duplex {
    if (this.#ended) throw new Error("the guest has ended the stream");
    return this.#mustBeOpen();
  }

  #timeLimitReason(): string {
    return `the connection was open for ${formatDuration(this.#timeMs)}, the maximum (--egress-time)`;
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(act, ms).unref();
  }

  /** Combines the writes of a turn of the event loop, because a guest can send single bytes. */
  #cork(socket: Duplex): void {
    if (this.#corked) return;
    this.#corked = true;
    socket.cork();
    process.nextTick(() => {
      this.#corked = false;
      socket.uncork();
    });
  }

  #wasTaken(cost: number): void {
    this.#owner.hold(this, -cost);
    if (this.#isDetached) return;
    this.#taken += cost;
    if (this.#taken < GIVE_BACK_BYTES) return;
    const granted = this.#taken;
    this.#sendWindow += granted;
    this.#taken = 0;
    this.#owner.push(numberFrame(TO_GUEST.sendMore, this.id, granted));
  }

  /** Called when the socket is closed, is about to close, or was never created. */
  #release(): void {
    this.#isDetached = true;
    clearTimeout(this.#timer ?? undefined);
    this.#abandoned?.abort();
    this.#ports?.release(this.#isOpen && (this.#endedFirst || !this.#socket!.readableEnded));
    this.#owner.gone(this);
  }
}

const BROKEN: NetworkFault = {
  message: "read ECONNRESET",
  code: "ECONNRESET",
  errno: -104,
  syscall: "read",
};

function isConnecting(socket: Duplex): boolean {
  return socket instanceof Socket && socket.connecting;
}
