import assert from "node:assert/strict";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";

import { bytesFrame, textFrame } from "../../src/wire/frames.ts";
import {
  type AnswerMessage,
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  FROM_GUEST,
  type LookupMessage,
  type NetworkFault,
  type OpenMessage,
  TO_GUEST,
  WINDOW_BYTES,
} from "../../src/wire/messages.ts";
import type { GuestProcess } from "./guest-process.ts";

/** An `open` frame of the guest. */
export interface Opened extends OpenMessage {
  id: number;
  run: number;
}

interface Stream {
  socket: Socket;
  /** The bytes that the guest may still send. */
  guestCredit: number;
  /** The bytes that may still be sent to the guest. */
  credit: number;
}

/** The target of a connection: a server of the test, or the fault of every connection to it. */
type Host = Server | NetworkFault;

const RUN_ID_BYTES = 4;

/** Implements the service's side of the network for one guest, and checks that the guest stays within the windows. */
export class Gateway {
  readonly opens: Opened[] = [];
  readonly lookups: { run: number; host: string }[] = [];
  /** The minimum of all streams' guest credit. The service ends a guest whose credit falls below zero. */
  minCredit: number = Infinity;
  /** The streams that were opened and not reset. */
  readonly streams: Map<number, Stream> = new Map();
  readonly #guest: GuestProcess;
  readonly #hosts: Map<string, Host>;
  readonly #names: Map<string, AnswerMessage>;
  #grants = true;

  /**
   * @param hosts The hosts by `host:port`, as the guest names them.
   * @param names The answers of lookups by name.
   */
  constructor(guest: GuestProcess, hosts: Record<string, Host>, names: Record<string, AnswerMessage> = {}) {
    this.#guest = guest;
    this.#hosts = new Map(Object.entries(hosts));
    this.#names = new Map(Object.entries(names));
    guest.onNetwork = (type, id, payload) => this.#onFrame(type, id, payload);
  }

  add(target: string, host: Host): void {
    this.#hosts.set(target, host);
  }

  /** Stops granting window to the guest. */
  withholdGrants(): void {
    this.#grants = false;
  }

  /** Grants the full window of all streams, and resumes granting. */
  resumeGrants(): void {
    this.#grants = true;
    for (const id of this.streams.keys()) this.#grant(id);
  }

  /** Closes all connections after the guest has ended. */
  close(): void {
    for (const { socket } of this.streams.values()) socket.destroy();
  }

  fail(id: number, fault: NetworkFault): void {
    this.streams.get(id)?.socket.destroy();
    this.streams.delete(id);
    this.#guest.send(textFrame(TO_GUEST.peerReset, id, JSON.stringify(fault)));
  }

  #onFrame(type: number, id: number, payload: Buffer): void {
    const stream = this.streams.get(id);
    if (type === FROM_GUEST.open) return this.#open(id, payload);
    if (type === FROM_GUEST.lookup) return this.#lookup(id, payload);
    if (!stream) return;
    if (type === FROM_GUEST.sent) {
      assert.ok(payload.length > 0 && payload.length <= DATA_BYTES, `a frame of ${payload.length} bytes`);
      stream.guestCredit -= payload.length + DATA_FRAME_COST_BYTES;
      this.minCredit = Math.min(this.minCredit, stream.guestCredit);
      stream.socket.write(Buffer.from(payload));
      if (this.#grants && stream.guestCredit < WINDOW_BYTES / 2) this.#grant(id);
    }
    if (type === FROM_GUEST.receiveMore) {
      stream.credit += payload.readUInt32LE(0);
      this.#pump(id, stream);
    }
    if (type === FROM_GUEST.ended) stream.socket.end();
    if (type === FROM_GUEST.reset) {
      stream.socket.destroy();
      this.streams.delete(id);
    }
  }

  #open(id: number, payload: Buffer): void {
    const message = JSON.parse(payload.toString("utf8", RUN_ID_BYTES)) as OpenMessage;
    this.opens.push({ ...message, id, run: payload.readUInt32LE(0) });
    const host = this.#hosts.get(`${message.address ?? message.host}:${message.port}`) ?? REFUSED;
    if ("code" in host) return this.fail(id, host);
    const { port } = host.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const stream = { socket, guestCredit: WINDOW_BYTES, credit: WINDOW_BYTES };
    this.streams.set(id, stream);
    socket.once("connect", () => {
      const { remoteAddress, remotePort, remoteFamily, localAddress, localPort, localFamily } = socket;
      const ends = { remoteAddress, remotePort, remoteFamily, localAddress, localPort, localFamily };
      this.#guest.send(textFrame(TO_GUEST.opened, id, JSON.stringify(ends)));
    });
    socket.on("readable", () => this.#pump(id, stream));
    socket.once("end", () => this.#guest.send(bytesFrame(TO_GUEST.peerEnded, id)));
    socket.on("error", () => {
      this.fail(id, { message: "read ECONNRESET", code: "ECONNRESET", errno: -104, syscall: "read" });
    });
  }

  #lookup(id: number, payload: Buffer): void {
    const { host } = JSON.parse(payload.toString("utf8", RUN_ID_BYTES)) as LookupMessage;
    this.lookups.push({ run: payload.readUInt32LE(0), host });
    const answer = this.#names.get(host) ?? { fault: notFound(host) };
    this.#guest.send(textFrame(TO_GUEST.answer, id, JSON.stringify(answer)));
  }

  #grant(id: number): void {
    const stream = this.streams.get(id)!;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(WINDOW_BYTES - stream.guestCredit);
    stream.guestCredit = WINDOW_BYTES;
    this.#guest.send(bytesFrame(TO_GUEST.sendMore, id, bytes));
  }

  #pump(id: number, stream: Stream): void {
    for (;;) {
      const size = Math.min(stream.socket.readableLength, DATA_BYTES, stream.credit - DATA_FRAME_COST_BYTES);
      if (size <= 0) {
        // Without a read, the socket would not emit "end".
        if (stream.socket.readableLength === 0) stream.socket.read(0);
        return;
      }
      const bytes = stream.socket.read(size) as Buffer;
      stream.credit -= bytes.length + DATA_FRAME_COST_BYTES;
      this.#guest.send(bytesFrame(TO_GUEST.received, id, bytes));
    }
  }
}

const REFUSED: NetworkFault = {
  message: 'connect to "denied.test" port 80 is not allowed',
  code: "EGRESS_DENIED",
};

function notFound(hostname: string): NetworkFault {
  const message = `getaddrinfo ENOTFOUND ${hostname}`;
  return { message, code: "ENOTFOUND", errno: -3008, syscall: "getaddrinfo", hostname };
}
