import { connect, isIPv6, type Socket } from "node:net";

import { formatDuration } from "../units.ts";
import { bytesFrame, textFrame } from "../wire/frames.ts";
import {
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  type NetworkFault,
  type OpenedMessage,
  TO_GUEST,
  WINDOW_BYTES,
} from "../wire/messages.ts";
import type { Budget } from "./budgets.ts";
import { type Attempt, denial, failure, timedOut } from "./faults.ts";
import { CONNECT_MS, FLUSH_MS } from "./limits.ts";
import type { CheckedAddress } from "./policy.ts";
import { routeTo } from "./route.ts";

/** What a stream needs of its gateway. */
export interface StreamOwner {
  /** Sends a frame to the guest. */
  push(frame: Buffer): void;
  /** The same for what a peer sent: there may be much of it, and `sendOne` is called only when there is room. */
  pushData(frame: Buffer): void;
  /** The stream has something for the guest; `sendOne` is called when there is room for it. */
  ready(stream: Stream): void;
  /** Counts bytes of the stream, in either direction. @returns why it may not have them, or null. */
  charge(stream: Stream, bytes: number): NetworkFault | null;
  /** Counts bytes that wait for the peer, or (negative) do no more. @returns why they may not wait, or null. */
  hold(stream: Stream, bytes: number): NetworkFault | null;
  /** Nothing more comes of the stream, and nothing of it is held. */
  gone(stream: Stream): void;
}

/** A window's worth is given back when so much of it is free again. */
const GIVE_BACK_BYTES = WINDOW_BYTES / 4;
/** Less than this is not worth a frame when more waits: the guest gives room back in large pieces. */
const LEAST_BYTES = 4_096;
/** Of what a peer sent, beside one read: the guest's window is what keeps a connection busy, not this. */
const READ_AHEAD_BYTES = 16_384;

/**
 * The service's end of one connection of a guest: frames on one side, a socket on the other, and a window each way.
 *
 * Its methods that take frames throw when the guest breaks the protocol.
 */
export class Stream {
  readonly id: number;
  readonly attempt: Attempt;
  /** The run that asked for it: it counts among that one's open connections. */
  readonly opener: Budget;
  /** The run that its bytes count for. */
  payer: Budget;
  readonly sinceMs: number = performance.now();
  readonly #timeMs: number;
  readonly #owner: StreamOwner;
  #socket: Socket | null = null;
  #isOpen = false;
  /** The guest is told nothing more. */
  #left = false;
  #ended = false;
  /** What the guest may still send, and what it has sent and the peer has taken since it was last told. */
  #sendWindow = WINDOW_BYTES;
  #taken = 0;
  /** What the guest still has room for. */
  #receiveWindow = WINDOW_BYTES;
  #corked = false;
  #timer: NodeJS.Timeout | null = null;

  /** @param timeMs from its beginning, and once more from when it stands. */
  constructor(id: number, attempt: Attempt, opener: Budget, timeMs: number, owner: StreamOwner) {
    this.id = id;
    this.attempt = attempt;
    this.opener = opener;
    this.payer = opener;
    this.#timeMs = timeMs;
    this.#owner = owner;
  }

  /** Begins to wait for the addresses of its host and for one of them to answer. */
  begin(): void {
    this.#after(Math.min(CONNECT_MS, this.#timeMs), () => this.fail(timedOut(this.attempt)));
  }

  /** Connects to the first of these addresses that answers. */
  dial(addresses: readonly CheckedAddress[], port: number): void {
    if (this.#left) return;
    const route = routeTo(addresses, port, CONNECT_MS);
    const options = { ...route, allowHalfOpen: true, noDelay: true, highWaterMark: READ_AHEAD_BYTES };
    const socket = connect(options);
    this.#socket = socket;
    socket.on("connect", () => this.#open(socket));
    socket.on("error", (error) => this.fail(failure(error, this.attempt)));
    socket.on("close", () => this.#release());
  }

  /** Bytes for the peer. */
  sent(payload: Buffer): void {
    const cost = payload.length + DATA_FRAME_COST_BYTES;
    const socket = this.#mustTakeMore();
    this.#sendWindow -= cost;
    if (payload.length > DATA_BYTES || this.#sendWindow < 0) throw new Error("more than a stream's window");
    const fault = this.#owner.charge(this, payload.length) ?? this.#owner.hold(this, cost);
    if (fault) return this.fail(fault);
    this.#cork(socket);
    // A copy: the payload is a view into much more that was read with it.
    socket.write(new Uint8Array(payload), () => this.#wasTaken(cost));
  }

  /** The guest has room for more. */
  receiveMore(bytes: number): void {
    this.#mustBeOpen();
    if (bytes === 0) throw new Error("a window of no bytes");
    this.#receiveWindow += bytes;
    if (this.#receiveWindow > WINDOW_BYTES) throw new Error("a window that was never used");
    this.#owner.ready(this);
  }

  /** The guest sends no more. */
  end(): void {
    const socket = this.#mustTakeMore();
    this.#ended = true;
    socket.end();
  }

  /** Nobody in the guest wants it any more. What was sent before still reaches the peer, as from a closed socket. */
  reset(): void {
    this.#left = true;
    const socket = this.#socket;
    if (socket === null || socket.connecting || socket.writableLength === 0) return this.destroy();
    socket.destroySoon();
    this.#after(FLUSH_MS, () => this.destroy());
  }

  /** Ends it, and tells the guest why. */
  fail(fault: NetworkFault): void {
    if (!this.#left) this.#owner.push(textFrame(TO_GUEST.peerReset, this.id, JSON.stringify(fault)));
    this.destroy();
  }

  /** Ends it, now, and without a word to the guest. */
  destroy(): void {
    this.#left = true;
    this.#socket?.destroy();
    this.#release();
  }

  /** Sends the guest one frame of what has come, if it may. @returns whether it could send another. */
  sendOne(): boolean {
    const socket = this.#socket;
    if (this.#left || socket === null) return false;
    const waiting = socket.readableLength;
    if (waiting === 0) return this.#noticeEnd(socket);
    const room = this.#receiveWindow - DATA_FRAME_COST_BYTES;
    if (room < Math.min(waiting, LEAST_BYTES)) return false;
    const bytes = socket.read(Math.min(waiting, room, DATA_BYTES)) as Buffer | null;
    if (bytes === null) return false;
    const fault = this.#owner.charge(this, bytes.length);
    if (fault) {
      this.fail(fault);
      return false;
    }
    this.#receiveWindow -= bytes.length + DATA_FRAME_COST_BYTES;
    this.#owner.pushData(bytesFrame(TO_GUEST.received, this.id, bytes));
    return socket.readableLength > 0 || this.#noticeEnd(socket);
  }

  #open(socket: Socket): void {
    if (this.#left) return;
    this.#isOpen = true;
    this.#after(this.#timeMs, () => this.fail(denial(this.attempt, this.#tooLong())));
    this.#owner.push(textFrame(TO_GUEST.opened, this.id, JSON.stringify(endsOf(socket))));
    socket.on("readable", () => this.#owner.ready(this));
    // Only after everything before it has been read.
    socket.on("end", () => {
      if (!this.#left) this.#owner.push(bytesFrame(TO_GUEST.peerEnded, this.id));
    });
  }

  /** A stream of Node notices its end when it is read from and has nothing, not when its last bytes are taken. */
  #noticeEnd(socket: Socket): false {
    socket.read(0);
    return false;
  }

  #mustBeOpen(): Socket {
    if (!this.#isOpen) throw new Error("a stream that is not open yet");
    return this.#socket!;
  }

  #mustTakeMore(): Socket {
    if (this.#ended) throw new Error("a stream that the guest has ended");
    return this.#mustBeOpen();
  }

  #tooLong(): string {
    return `the connection was open for ${formatDuration(this.#timeMs)}, and may be for no longer (--egress-time)`;
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(act, ms).unref();
  }

  /** Gathers what comes within a turn: a guest can send single bytes. */
  #cork(socket: Socket): void {
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
    if (this.#left) return;
    this.#taken += cost;
    if (this.#taken < GIVE_BACK_BYTES) return;
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(this.#taken);
    this.#sendWindow += this.#taken;
    this.#taken = 0;
    this.#owner.push(bytesFrame(TO_GUEST.sendMore, this.id, payload));
  }

  /** When the socket is closed, or will be at once, or was never made. */
  #release(): void {
    this.#left = true;
    clearTimeout(this.#timer ?? undefined);
    this.#owner.gone(this);
  }
}

/** As the guest's sockets show them. The address of this end is the host's own, and no business of a task. */
function endsOf(socket: Socket): OpenedMessage {
  const localAddress = isIPv6(socket.remoteAddress ?? "") ? "::" : "0.0.0.0";
  return {
    remoteAddress: socket.remoteAddress ?? "",
    remotePort: socket.remotePort ?? 0,
    remoteFamily: socket.remoteFamily ?? "",
    localAddress,
    localPort: socket.localPort ?? 0,
    localFamily: socket.remoteFamily ?? "",
  };
}
