import type { Socket } from "node:net";
import { duplexPair } from "node:stream";

import { type Code, codeOf } from "../../src/containers/guest/code-table.ts";
import type { RunListener } from "../../src/containers/guest/guest-run.ts";
import { Guest } from "../../src/containers/guest/guest.ts";
import type { TransformText } from "../../src/containers/guest/transform-texts.ts";
import type { Egress } from "../../src/egress/egress.ts";
import type { GuestExit, GuestProcess } from "../../src/sandbox/sandbox.ts";
import { textFrame } from "../../src/wire/frames.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { IDLE, LIMITS } from "../containers/puppet.ts";

/** A guest whose frames a test writes. It has no process and no socket, because the test needs tens of thousands of guests. */
export class FuzzedGuest {
  readonly guest: Guest;
  readonly runs: FuzzedRun[] = [];
  readonly #end: Socket;
  readonly #code: Code;

  private constructor(guest: Guest, end: Socket, source: string) {
    this.guest = guest;
    this.#end = end;
    this.#code = codeOf({ source: Buffer.from(source), typescript: false, modules: null });
  }

  /** @param source the code of all runs */
  static async make(egress?: Egress, transform: TransformText | null = null, source = "1"): Promise<FuzzedGuest> {
    const [socket, end] = duplexPair() as unknown as [Socket, Socket];
    // The test does not read the frames of the service.
    end.resume().on("error", () => {});
    socket.on("error", () => {});
    const { promise: exited, resolve: exit } = Promise.withResolvers<GuestExit>();
    const process: GuestProcess = {
      socket,
      exited,
      seal: async () => {},
      setPriority: () => {},
      inspect: async () => IDLE,
      measure: async () => null,
      tmpfsBytes: async () => 0,
      interrupt: async () => "",
      kill: () => {
        socket.destroy();
        exit({ how: "signal SIGKILL", outOfMemory: false });
      },
    };
    const guest = new Guest(process, LIMITS, egress, { transform });
    end.write(textFrame(FROM_GUEST.ready, 0, ""));
    await guest.ready();
    return new FuzzedGuest(guest, end, source);
  }

  start(): FuzzedRun {
    const run = new FuzzedRun();
    run.id = this.guest.run(this.#code, () => "{}", run, performance.now());
    this.runs.push(run);
    return run;
  }

  /** Sends the bytes in these chunks, and waits until the service has read them. */
  async write(pieces: readonly Buffer[]): Promise<void> {
    for (const piece of pieces) if (!this.guest.ended) this.#end.write(piece);
    while (!this.guest.ended && this.guest.process.socket.readableLength > 0) await nextTurn();
    await nextTurn();
  }
}

/** Checks the events of a run: which answer a client can receive, and in which order. */
export class FuzzedRun implements RunListener {
  id = 0;
  /** Whether the client has left. No event may follow. */
  abandoned = false;
  answers = 0;
  overs = 0;
  hasHead = false;
  /** Stored and not thrown, because the service would blame the guest for an exception here. */
  readonly violations: string[] = [];

  result(): void {
    this.#answer("a result", !this.hasHead);
  }

  head(): void {
    this.#hear("a head", !this.hasHead);
    this.hasHead = true;
  }

  data(): void {
    this.#hear("a body", this.hasHead);
  }

  end(): void {
    this.#answer("an end", this.hasHead);
  }

  fault(): void {
    this.#answer("a fault", true);
  }

  over(): void {
    if (this.overs++ > 0) this.violations.push("over twice");
    if (this.answers === 0 && !this.abandoned) this.violations.push("over before the answer");
  }

  // Accepted also after the end of the run, because timers that it left behind may log.
  readonly logSink = { log: (): void => {}, lateError: (): void => {} };

  // Accepted also after the end of the run, because a lookup of a name takes time.
  refused(): void {}

  usesEgress(): void {}

  #answer(what: string, isInOrder: boolean): void {
    this.#hear(what, isInOrder);
    this.answers += 1;
  }

  #hear(what: string, isInOrder: boolean): void {
    if (!isInOrder) this.violations.push(`${what} out of order`);
    if (this.answers > 0) this.violations.push(`${what} after the answer`);
    if (this.abandoned) this.violations.push(`${what} after the client has left`);
  }
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
