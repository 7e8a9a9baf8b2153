import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

import type { GuestLimits } from "../../src/containers/guest/guest-limits.ts";
import { Guest } from "../../src/containers/guest/guest.ts";
import type { Egress } from "../../src/egress/egress.ts";
import type { GuestExit, GuestProcess, GuestStatus, Priority } from "../../src/sandbox/sandbox.ts";
import { bytesFrame, FrameReader, textFrame } from "../../src/wire/frames.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";

export const LIMITS: GuestLimits = {
  wallMs: 60_000,
  streamMs: 120_000,
  resultBytes: 2 ** 20,
  logs: { bytes: 2 ** 18, linesPerSecond: 1_000 },
};
const MIB = 2 ** 20;
/** The status of an idle guest, as the kernel would report it. */
export const IDLE: GuestStatus = {
  pid: 1,
  state: "S",
  title: "",
  cpuMs: 0,
  processCpuMs: 0,
  niceness: 10,
  threads: 7,
  memoryBytes: 40 * MIB,
};

export interface Frame {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** A stub for the process of a guest, over a real pair of sockets. It sends what a test wants, as hostile code could. */
export class Puppet implements GuestProcess {
  readonly socket: Socket;
  readonly exited: Promise<GuestExit>;
  /** Returns the answer of `inspect`, for each call. */
  status: () => GuestStatus | null = () => IDLE;
  /** The answer of `tmpfsBytes`. */
  filesBytes = 0;
  sealed = 0;
  readonly priorities: Priority[] = [];
  killed = false;
  readonly received: Frame[] = [];
  /** Called for each frame. If it returns true, the frame is not stored. */
  take: (frame: Frame) => boolean = () => false;
  readonly #end: Socket;
  readonly #exit: (exit: GuestExit) => void;
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();

  private constructor(service: Socket, end: Socket) {
    this.socket = service;
    this.#end = end;
    const { promise, resolve } = Promise.withResolvers<GuestExit>();
    this.exited = promise;
    this.#exit = resolve;
    const reader = new FrameReader(64 * MIB, (type, id, payload) => {
      const frame = { type, id, payload: Buffer.from(payload) };
      if (this.take(frame)) return;
      this.received.push(frame);
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
    end.on("data", (chunk: Buffer) => reader.push(chunk)).on("error", () => {});
    service.on("error", () => {});
  }

  static async make(t: TestContext): Promise<Puppet> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const service = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [end] = (await once(server, "connection")) as [Socket];
    server.close();
    t.after(() => {
      service.destroy();
      end.destroy();
    });
    return new Puppet(service, end);
  }

  setPriority(priority: Priority): void {
    this.priorities.push(priority);
  }

  async seal(): Promise<void> {
    this.sealed++;
  }

  async measure(): Promise<null> {
    return null;
  }

  async inspect(): Promise<GuestStatus | null> {
    return this.status();
  }

  async tmpfsBytes(): Promise<number> {
    return this.filesBytes;
  }

  async interrupt(): Promise<string> {
    return "";
  }

  kill(): void {
    this.killed = true;
    this.exit({ how: "signal SIGKILL" });
  }

  exit({ how = "exit code 0", outOfMemory = false }: Partial<GuestExit> = {}, socket?: "open"): void {
    if (socket !== "open") this.#end.end();
    this.#exit({ how, outOfMemory });
  }

  /** Sends one frame. */
  say(type: number, id: number, payload: string | Uint8Array | object = ""): void {
    if (payload instanceof Uint8Array) return this.write(bytesFrame(type, id, payload));
    this.write(textFrame(type, id, typeof payload === "string" ? payload : JSON.stringify(payload)));
  }

  write(bytes: Uint8Array): void {
    this.#end.write(bytes);
  }

  /** Stops reading the socket. */
  stopReading(): void {
    this.#end.pause();
  }

  read(): void {
    this.#end.resume();
  }

  /** Waits for the next frame of this type and removes it. */
  async next(type: number): Promise<Frame> {
    for (;;) {
      const index = this.received.findIndex((frame) => frame.type === type);
      if (index >= 0) return this.received.splice(index, 1)[0]!;
      await this.#changed.promise;
    }
  }
}

/** Returns a guest that is ready, and the stub of its process. */
export async function makeGuest(
  t: TestContext,
  limits: Partial<GuestLimits> = {},
  egress?: Egress,
): Promise<{ guest: Guest; puppet: Puppet }> {
  const puppet = await Puppet.make(t);
  const guest = new Guest(puppet, { ...LIMITS, ...limits }, egress);
  puppet.say(FROM_GUEST.ready, 0);
  await guest.ready();
  return { guest, puppet };
}
