import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

import type { Guest } from "../../src/containers/guest/guest.ts";
import { ConnectionShares } from "../../src/egress/connection-shares.ts";
import type { Egress } from "../../src/egress/egress.ts";
import { LocalPorts } from "../../src/egress/local-ports.ts";
import { type EgressOptions, egressPolicy } from "../../src/egress/policy.ts";
import type { NetClaim } from "../../src/egress/restrict-policy.ts";
import { egressCounts } from "../../src/telemetry/egress-counts.ts";
import {
  type AnswerMessage,
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  FROM_GUEST,
  type NetworkFault,
  type OpenedMessage,
  type OpenMessage,
  TO_GUEST,
  WINDOW_BYTES,
} from "../../src/wire/messages.ts";
import { type Frame, makeGuest, type Puppet } from "../containers/puppet.ts";
import { type Recorder, start } from "../containers/recorder.ts";

const MIB = 2 ** 20;
const STUCK_TURNS = 500;

export interface NetworkOptions extends Partial<EgressOptions> {
  /** The allowed ports of this machine, for 127.0.0.1 and for each name in `names`. */
  ports?: number[];
  /** The addresses of each name for each query in turn; the last answer repeats. */
  names?: Record<string, readonly (readonly string[])[]>;
  limits?: Partial<Egress["limits"]>;
  connections?: ConnectionShares;
  localPorts?: LocalPorts;
  net?: NetClaim;
}

export interface Network {
  readonly guest: Guest;
  readonly puppet: Puppet;
  readonly egress: Egress;
  readonly wire: PuppetNetwork;
  /** The names that were sent to DNS. */
  readonly dnsQueries: string[];
  /** A run in flight. */
  readonly run: Recorder;
}

/** Creates a guest with network access whose other end the test controls. */
export async function openNetwork(t: TestContext, options: NetworkOptions = {}): Promise<Network> {
  const {
    names = {},
    ports: reachable = [],
    limits,
    connections = new ConnectionShares(2_000),
    localPorts = new LocalPorts(),
    net = null,
    ...rest
  } = options;
  const dnsQueries: string[] = [];
  const hosts = ["127.0.0.1", ...Object.keys(names)];
  const egress: Egress = {
    policy: egressPolicy({
      mode: "public",
      allow: reachable.flatMap((port) => hosts.map((host) => ({ host, port }))),
      resolver: async (name) => {
        const answers = names[name] ?? [];
        const turn = dnsQueries.filter((each) => each === name).length;
        dnsQueries.push(name);
        return (answers[Math.min(turn, answers.length - 1)] ?? []).map((address) => ({ address }));
      },
      ...rest,
    }),
    limits: { connections: 64, bytes: 256 * MIB, timeMs: 60_000, ...limits },
    connections,
    counts: egressCounts(),
    ports: localPorts,
  };
  const { guest, puppet } = await makeGuest(t, {}, egress);
  // As the watchdog does: without ticks the service stops reading a guest that has sent many requests.
  const ticks = setInterval(() => guest.isPaused && guest.tick(1), 5);
  t.after(() => {
    clearInterval(ticks);
    puppet.kill();
  });
  guest.net = net;
  return { guest, puppet, egress, wire: new PuppetNetwork(puppet), dnsQueries, run: start(guest, "1") };
}

/** Starts a server on loopback, whose sockets are closed when the test ends. */
export async function serveTcp(
  t: TestContext,
  onSocket: (socket: Socket) => void,
  host: string = "127.0.0.1",
  port: number = 0,
): Promise<{ port: number; server: Server; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    onSocket(socket);
  }).listen(port, host);
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

/** Returns a port of loopback on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The guest's half of the protocol. It is honest unless a test makes it misbehave. */
export class PuppetNetwork {
  readonly #puppet: Puppet;
  readonly #streams: Map<number, PuppetStream> = new Map();
  readonly #answers: Map<number, (answer: AnswerMessage) => void> = new Map();
  #nextId = 1;

  constructor(puppet: Puppet) {
    this.#puppet = puppet;
    puppet.take = (frame) => this.#take(frame);
  }

  open(run: number, host: string, port: number, address?: string): PuppetStream {
    const id = this.#nextId++;
    const stream = new PuppetStream(id, this.#puppet);
    this.#streams.set(id, stream);
    this.#puppet.say(FROM_GUEST.open, id, openPayload(run, { host, port, ...(address !== undefined && { address }) }));
    return stream;
  }

  async lookup(run: number, host: string): Promise<AnswerMessage> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<AnswerMessage>();
    this.#answers.set(id, resolve);
    this.#puppet.say(FROM_GUEST.lookup, id, openPayload(run, { host }));
    return promise;
  }

  #take(frame: Frame): boolean {
    if (frame.type === TO_GUEST.answer) {
      this.#answers.get(frame.id)?.(JSON.parse(frame.payload.toString()) as AnswerMessage);
      return true;
    }
    if (frame.type < TO_GUEST.opened || frame.type > TO_GUEST.answer) return false;
    this.#streams.get(frame.id)?.take(frame);
    return true;
  }
}

/** The payload of an `open` or a `lookup`. */
export function openPayload(run: number, message: Partial<OpenMessage> | string): Buffer {
  const text = Buffer.from(typeof message === "string" ? message : JSON.stringify(message));
  const payload = Buffer.alloc(4 + text.length);
  payload.writeUInt32LE(run);
  text.copy(payload, 4);
  return payload;
}

/** Encodes a window as in `receiveMore`. */
export function windowPayload(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32LE(bytes);
  return payload;
}

export class PuppetStream {
  readonly id: number;
  readonly opened: Promise<OpenedMessage>;
  readonly ended: Promise<void>;
  readonly broke: Promise<NetworkFault>;
  /** Whether the stream gives room back for received data. */
  refill = true;
  /** The received text, unless `onData` consumes it. */
  text = "";
  bytes = 0;
  frames = 0;
  onData: ((bytes: Buffer) => void) | null = null;
  /** The bytes that this side may still send. */
  sendWindow: number = WINDOW_BYTES;
  /** The bytes that the service may still send. */
  receiveWindow: number = WINDOW_BYTES;
  readonly #puppet: Puppet;
  readonly #resolve: {
    opened: (message: OpenedMessage) => void;
    ended: () => void;
    broke: (fault: NetworkFault) => void;
  };
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(id: number, puppet: Puppet) {
    this.id = id;
    this.#puppet = puppet;
    const opened = Promise.withResolvers<OpenedMessage>();
    const ended = Promise.withResolvers<void>();
    const broke = Promise.withResolvers<NetworkFault>();
    this.#resolve = { opened: opened.resolve, ended: ended.resolve, broke: broke.resolve };
    this.opened = opened.promise;
    this.ended = ended.promise;
    this.broke = broke.promise;
  }

  /** Sends one frame and ignores the window. */
  sendFrame(bytes: Uint8Array | string): void {
    const payload = Buffer.from(bytes as string);
    this.sendWindow -= payload.length + DATA_FRAME_COST_BYTES;
    this.#puppet.say(FROM_GUEST.sent, this.id, payload);
  }

  /** Sends all bytes as the window allows. @returns false if the stream broke. */
  async send(bytes: Buffer): Promise<boolean> {
    for (let at = 0; at < bytes.length;) {
      const room = Math.min(this.sendWindow - DATA_FRAME_COST_BYTES, DATA_BYTES);
      if (room > 0) {
        this.sendFrame(bytes.subarray(at, at + room));
        at += room;
        continue;
      }
      const broken = await Promise.race([this.#changed.promise, this.broke]);
      if (broken) return false;
    }
    return true;
  }

  /** Waits until the window stays exhausted, which means that the kernel's buffers to the peer are full too. */
  async stuck(): Promise<void> {
    for (let turns = 0; turns < STUCK_TURNS; turns++) {
      if (this.sendWindow > DATA_FRAME_COST_BYTES) turns = 0;
      await new Promise(setImmediate);
    }
  }

  giveBack(bytes: number): void {
    this.receiveWindow += bytes;
    this.#puppet.say(FROM_GUEST.receiveMore, this.id, windowPayload(bytes));
  }

  end(): void {
    this.#puppet.say(FROM_GUEST.ended, this.id);
  }

  reset(): void {
    this.#puppet.say(FROM_GUEST.reset, this.id);
  }

  /** Waits until this number of bytes has arrived. */
  async has(bytes: number): Promise<void> {
    while (this.bytes < bytes) {
      const fault = await Promise.race([this.#changed.promise, this.broke]);
      if (fault) throw new Error(`the stream broke after ${this.bytes} of ${bytes} bytes: ${fault.message}`);
    }
  }

  take({ type, payload }: Frame): void {
    if (type === TO_GUEST.opened) this.#resolve.opened(JSON.parse(payload.toString()) as OpenedMessage);
    if (type === TO_GUEST.peerEnded) this.#resolve.ended();
    if (type === TO_GUEST.peerReset) this.#resolve.broke(JSON.parse(payload.toString()) as NetworkFault);
    if (type === TO_GUEST.sendMore) this.sendWindow += payload.readUInt32LE(0);
    if (type === TO_GUEST.received) this.#receive(payload);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #receive(payload: Buffer): void {
    const cost = payload.length + DATA_FRAME_COST_BYTES;
    this.receiveWindow -= cost;
    this.bytes += payload.length;
    this.frames++;
    assert.ok(
      payload.length > 0 && payload.length <= DATA_BYTES && this.receiveWindow >= 0,
      "a frame beyond its bounds",
    );
    if (this.onData) this.onData(payload);
    else this.text += payload.toString("latin1");
    if (this.refill && this.receiveWindow < WINDOW_BYTES / 2) this.giveBack(WINDOW_BYTES - this.receiveWindow);
  }
}
