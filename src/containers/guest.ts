import { Problem } from "../errors.ts";
import type { GuestExit, GuestProcess } from "../sandbox/sandbox.ts";
import { bytesFrame, FrameReader, Outbox, textFrame } from "../wire/frames.ts";
import {
  type AbortReason,
  DATA_BYTES,
  FROM_GUEST,
  type HeadMessage,
  TO_GUEST,
  WINDOW_BYTES,
} from "../wire/messages.ts";
import { CodeTable, type Code } from "./codes.ts";
import { Flights } from "./flights.ts";
import { parseFault, parseHead } from "./messages.ts";

/** What a run tells whoever waits for it: `result` or `fault` alone, or `head`, then `data`, then `end` or `fault`. */
export interface RunListener {
  result(json: Buffer): void;
  head(head: HeadMessage): void;
  data(bytes: Buffer): void;
  end(): void;
  fault(problem: Problem): void;
  log(level: number, text: string): void;
}

export interface GuestLimits {
  /** From sending a run to its result, or to the head of its stream. */
  readonly wallMs: number;
  /** From the head of a stream to its end. */
  readonly streamMs: number;
  /** Of a buffered result. */
  readonly resultBytes: number;
}

/** One run that the guest has not answered. */
export interface Flight {
  readonly listener: RunListener;
  /** On the clock of `performance.now()`. Moves when the head of a stream has come. */
  deadlineMs: number;
  /** Bytes of the body that the guest may still send. */
  window: number;
  /** Its head has come. */
  streaming: boolean;
}

/** A guest is ready within a tenth of a second; a busy machine takes longer. */
const START_MS = 15_000;
const HEAD_BYTES = 65_536;
/** Heads, faults and data are bounded by themselves; a result is what may be longest. */
const OTHER_FRAME_BYTES = 131_072;

/**
 * The service's end of a guest: frames out and in, the runs in flight, and the one cause of its end.
 *
 * Every frame that comes is hostile input. One that is out of order costs the guest its life and nobody else anything.
 */
export class Guest {
  readonly process: GuestProcess;
  readonly flights: Flights<Flight> = new Flights();
  readonly startedMs: number = performance.now();
  /** Takes no new run; it ends when those in flight have. */
  draining = false;
  ended = false;
  runs = 0;
  /** When the last ping went out and is unanswered, else null. On the clock of `performance.now()`. */
  pingedMs: number | null = null;
  lastPingMs = 0;
  readonly #codes: CodeTable;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #limits: GuestLimits;
  readonly #warm: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(process: GuestProcess, limits: GuestLimits) {
    this.process = process;
    this.#limits = limits;
    this.#reader = new FrameReader(Math.max(limits.resultBytes, OTHER_FRAME_BYTES), (type, id, payload) =>
      this.#receive(type, id, payload),
    );
    this.#outbox = new Outbox((bytes) => {
      if (!this.ended) process.socket.write(bytes);
    });
    this.#codes = new CodeTable((frame) => this.#outbox.push(frame));
    process.socket.on("data", (chunk: Buffer) => {
      try {
        this.#reader.push(chunk);
      } catch (error) {
        this.end(forgeryCause(error, this.flights.size));
      }
    });
    void process.exited.then((exit) => this.end(exitCause(exit, this.flights.size)));
  }

  /** Resolves when the guest is warm and under its limits. @throws {Problem} `sandbox_failed` when it ends before. */
  async ready(): Promise<this> {
    const failed = async (): Promise<never> => {
      const exit = await this.process.exited;
      throw new Problem("sandbox_failed", "a container could not be started", { cause: new Error(exit.how) });
    };
    // A start that hangs must not hold up those that wait behind it.
    const timer = setTimeout(() => this.end(REPLACED), START_MS);
    try {
      await Promise.race([this.#warm.promise, failed()]);
      await Promise.race([this.process.seal(), failed()]);
      return this;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param context makes the run's context as JSON; not called for code that never reads it.
   * @returns the id that `abort`, `grant` and the guest use for the run.
   * @throws {Problem} `sandbox_failed` when the guest has just ended.
   */
  run(code: Code, context: () => string, listener: RunListener, nowMs: number): number {
    if (this.ended) throw new Problem("sandbox_failed", "the container ended before the run could begin");
    const deadlineMs = nowMs + this.#limits.wallMs;
    const id = this.flights.add({ listener, deadlineMs, window: WINDOW_BYTES, streaming: false });
    const known = this.#codes.use(code);
    const codeId = Buffer.allocUnsafe(4);
    codeId.writeUInt32LE(known.id);
    const parts = known.needsContext ? [codeId, Buffer.from(context())] : [codeId];
    this.#outbox.push(bytesFrame(TO_GUEST.run, id, ...parts));
    this.runs++;
    return id;
  }

  abort(id: number, reason: AbortReason): void {
    if (this.flights.get(id)) this.#outbox.push(textFrame(TO_GUEST.abort, id, reason));
  }

  /** Gives up a run whose client has left: the task is told, and what it still answers is ignored. */
  abandon(id: number): void {
    this.abort(id, "gone");
    this.#take(id);
  }

  /** Lets the guest send more of a body. */
  grant(id: number, bytes: number): void {
    const flight = this.flights.get(id);
    if (!flight || bytes === 0) return;
    flight.window += bytes;
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(bytes);
    this.#outbox.push(bytesFrame(TO_GUEST.window, id, payload));
  }

  ping(nowMs: number): void {
    this.pingedMs = nowMs;
    this.lastPingMs = nowMs;
    this.#outbox.push(bytesFrame(TO_GUEST.ping, 0));
  }

  /** Lets it finish what it has begun and take nothing new, then ends it. */
  retire(): void {
    this.draining = true;
    if (this.flights.size === 0) this.end(REPLACED);
  }

  /** Answers one run in the guest's stead; what the guest still says of it is ignored. */
  fail(id: number, problem: Problem): void {
    this.#take(id)?.listener.fault(problem);
  }

  /**
   * Ends the guest, now. The first cause wins: what is found out later cannot relabel it.
   *
   * @param cause is what its runs are answered, all or those that are not named.
   * @param culprit is the run that is answered `culpritCause` instead.
   */
  end(cause: Problem, culprit?: { id: number; cause: Problem }): void {
    if (this.ended) return;
    this.ended = true;
    this.draining = true;
    this.process.kill();
    this.process.socket.destroy();
    for (const [id] of this.flights) this.fail(id, id === culprit?.id ? culprit.cause : cause);
  }

  #receive(type: number, id: number, payload: Buffer): void {
    if (this.ended) return;
    switch (type) {
      case FROM_GUEST.result:
        return this.#take(id)?.listener.result(payload);
      case FROM_GUEST.head:
        return this.#receiveHead(id, payload);
      case FROM_GUEST.data:
        return this.#receiveData(id, payload);
      case FROM_GUEST.end:
        return this.#take(id)?.listener.end();
      case FROM_GUEST.fault: {
        const { problem, retire } = parseFault(payload);
        if (retire) this.draining = true;
        this.#take(id)?.listener.fault(problem);
        if (retire) this.retire();
        return;
      }
      case FROM_GUEST.pong:
        this.pingedMs = null;
        return;
      case FROM_GUEST.compiled:
        return this.#codes.compiled(id, payload[0] !== 0);
      case FROM_GUEST.log:
        return this.flights.get(id)?.listener.log(payload[0] ?? 0, payload.toString("utf8", 1));
      case FROM_GUEST.ready:
        return this.#warm.resolve();
      default:
        return this.#break(`a frame of the unknown type ${type}`);
    }
  }

  #receiveHead(id: number, payload: Buffer): void {
    const flight = this.flights.get(id);
    if (!flight) return;
    if (flight.streaming || payload.length > HEAD_BYTES) return this.#break(`a head of ${payload.length} bytes`);
    flight.streaming = true;
    flight.deadlineMs = performance.now() + this.#limits.streamMs;
    flight.listener.head(parseHead(payload));
  }

  #receiveData(id: number, payload: Buffer): void {
    const flight = this.flights.get(id);
    if (!flight) return;
    flight.window -= payload.length;
    if (!flight.streaming) return this.#break("a body before its head");
    if (payload.length > DATA_BYTES || flight.window < 0) return this.#break("more of a body than was asked for");
    flight.listener.data(payload);
  }

  #take(id: number): Flight | null {
    const flight = this.flights.take(id);
    // After the caller has been told: the end must not overtake the answer.
    if (flight && this.draining && this.flights.size === 0) queueMicrotask(() => this.end(REPLACED));
    return flight;
  }

  #break(what: string): never {
    throw new Error(what);
  }
}

/** What the runs of a guest are answered that sent what it should not have: submitted code wrote to its descriptor. */
function forgeryCause(cause: unknown, runs: number): Problem {
  if (runs > 1) return new Problem("container_restarted", "another run broke the protocol of the container", { cause });
  return new Problem("task_exited", "the task broke the protocol of its container", { cause });
}

const REPLACED = new Problem("container_restarted", "the container was replaced");

/** What the runs of a guest that ended by itself are answered. */
function exitCause(exit: GuestExit, runs: number): Problem {
  const cause = new Error(exit.how);
  if (runs > 1) {
    const why = exit.outOfMemory ? "ran out of memory" : "ended";
    return new Problem("container_restarted", `the container ${why} while ${runs} runs were in flight`, { cause });
  }
  if (exit.outOfMemory) {
    const hint = "Hold less at a time, or have the operator raise --memory-limit.";
    return new Problem("task_memory", "the task needs more memory than its container has", { cause, hint });
  }
  return new Problem("task_exited", "the task ended its process before it gave a result", { cause });
}
