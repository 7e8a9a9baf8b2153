import { once } from "node:events";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";

import { type Egress, Gateway, type GuestLink } from "../egress/gateway.ts";
import type { NetClaim } from "../egress/narrow.ts";
import { NO_EGRESS } from "../egress/none.ts";
import { Problem } from "../errors.ts";
import type { GuestProcess, Priority } from "../sandbox/sandbox.ts";
import { OTHER_FRAME_BYTES } from "../wire/bounds.ts";
import { bytesFrame, FrameReader, Outbox, textFrame } from "../wire/frames.ts";
import type { LogLimits } from "../wire/log-allowance.ts";
import { type AbortReason, FROM_GUEST, TO_GUEST } from "../wire/messages.ts";
import { CodeTable, type Code } from "./codes.ts";
import { egressLink } from "./egress-link.ts";
import { Flight, type RunListener } from "./flight.ts";
import { Flights } from "./flights.ts";
import { EXITED_BY_ANOTHER, exitCause, forgeryCause, REPLACED } from "./guest-causes.ts";
import { parseFault } from "./messages.ts";
import { Pulse } from "./pulse.ts";
import { PastLogs } from "./run-log.ts";
import { Upload } from "./upload.ts";

export interface GuestLimits {
  /** From sending a run to its result, or to the head of its stream. */
  readonly wallMs: number;
  /** From the head of a stream to its end. */
  readonly streamMs: number;
  /** Of a buffered result. */
  readonly resultBytes: number;
  /** Of each run. */
  readonly logs: LogLimits;
}

/** The body of a request, apart from its context. */
export interface RequestBody {
  readonly source: Readable;
  /** Bytes of it that a task may hold which needs all of it at once. */
  readonly mostHeld: number;
}

/** A guest is ready within a tenth of a second; a busy machine takes longer. */
const START_MS = 15_000;
/** As many runs as a container may have in flight by default: so many more at the most may go on unseen. */
const MAX_ABANDONED = 64;
/** Enough to write a line or to let go of something; a guest whose event loop is free needs a fraction. */
const GRACE_MS = 100;
/** The bytes that an ended process has left in a socket are read in a turn or two of the event loop. */
const END_MS = 1_000;
/** Within one tick of the watchdog. Aborted streams leave some hundreds. */
const MAX_NOISE = 5_000;
const KNOWN_TYPES: ReadonlySet<number> = new Set(Object.values(FROM_GUEST));
const unknown = (type: number): string => `a frame of the unknown type ${type}`;

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
  /** It has said that its start is over: only from then on a task may run in it. */
  warm = false;
  /** When its tasks broke it, on the clock of `performance.now()`; null as long as it lives, and when it was replaced. */
  crashedMs: number | null = null;
  runs = 0;
  /** When it was given its first run; infinite before. */
  begunMs: number = Number.POSITIVE_INFINITY;
  /** When it was given its last one; 0 before. */
  ranMs = 0;
  /** Runs that it ended itself, and outlived. */
  answered = 0;
  /** What its party's tokens leave of the egress policy; set when it is given to one, before any run. */
  net: NetClaim = null;
  priority: Priority = "high";
  readonly pulse: Pulse = new Pulse();
  /** Frames that nobody asked for, since the watchdog last looked. */
  noise = 0;
  readonly #past: PastLogs = new PastLogs();
  readonly #codes: CodeTable;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #limits: GuestLimits;
  readonly #egress: Egress;
  readonly #link: GuestLink;
  /** Made when the guest first asks for the network, which is after it was given to a party. */
  #gateway: Gateway | null = null;
  #abandoned = 0;
  /** Runs while it is kept for what hears of a deadline. */
  #grace: NodeJS.Timeout | null = null;
  readonly #warm: PromiseWithResolvers<void> = Promise.withResolvers();
  /** What the others are answered when one of its runs has ended its process. */
  #endedBy: Problem | null = null;

  constructor(process: GuestProcess, limits: GuestLimits, egress: Egress = NO_EGRESS) {
    this.process = process;
    this.#limits = limits;
    this.#egress = egress;
    this.#reader = new FrameReader(
      (type) => (type === FROM_GUEST.result ? limits.resultBytes : OTHER_FRAME_BYTES),
      (type, id, payload) => this.#receive(type, id, payload),
    );
    this.#outbox = new Outbox((bytes) => {
      if (this.ended) return;
      // What the kernel takes at once is followed by no event.
      if (process.socket.write(bytes)) this.#gateway?.drained();
    });
    const broken = (error: Error): void => this.crash(forgeryCause(error, this.flights.size));
    this.#link = egressLink(this.flights, this.#outbox, process.socket, broken);
    this.#codes = new CodeTable((frame) => this.#outbox.push(frame));
    process.socket.on("drain", () => this.#drained());
    process.socket.on("data", (chunk: Buffer) => {
      try {
        this.#reader.push(chunk);
      } catch (error) {
        this.crash(forgeryCause(error, this.flights.size));
      }
    });
    const exited = async (): Promise<void> => {
      const exit = await process.exited;
      if (this.ended) return;
      this.draining = true;
      this.crashedMs ??= performance.now();
      // It comes by another way than the frames, and may overtake the last of them.
      await readToEnd(process.socket);
      this.crash(this.#endedBy ?? exitCause(exit, this.flights.size));
    };
    void exited();
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
    } catch (error) {
      // Nobody else knows of it yet.
      this.end(REPLACED);
      if (error instanceof Problem) throw error;
      throw new Problem("sandbox_failed", "a container could not be put under its limits", { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param body of the request, where it is no part of the context. It is read as the guest asks for it, and not by others.
   * @param context makes the run's context as JSON; not called for code that never reads it.
   * @returns the id that `abort`, `grant` and the guest use for the run.
   * @throws {Problem} `sandbox_failed` when the guest has just ended.
   */
  run(code: Code, context: () => string, listener: RunListener, nowMs: number, body?: RequestBody | null): number {
    if (this.ended) throw new Problem("sandbox_failed", "the container ended before the run could begin");
    const known = this.#codes.use(code);
    const parts = known.needsContext ? [u32(known.id), Buffer.from(context())] : [u32(known.id)];
    const flight = new Flight(listener, nowMs + this.#limits.wallMs, known);
    const id = this.flights.add(flight);
    if (this.runs++ === 0) this.begunMs = nowMs;
    this.ranMs = nowMs;
    // Code that never reads its context reads no body either.
    if (!body || !known.needsContext) this.#outbox.push(bytesFrame(TO_GUEST.run, id, ...parts));
    else {
      parts.splice(1, 0, u32(body.mostHeld));
      this.#outbox.push(bytesFrame(TO_GUEST.runWithBody, id, ...parts));
      flight.upload = this.#upload(id, body.source);
    }
    return id;
  }

  #upload(id: number, source: Readable): Upload {
    const waiting = (): number => this.#link.waitingBytes;
    return new Upload(source, {
      get waitingBytes() {
        return waiting();
      },
      data: (bytes) => this.#outbox.push(bytesFrame(TO_GUEST.body, id, bytes)),
      end: () => this.#outbox.push(bytesFrame(TO_GUEST.bodyEnd, id)),
    });
  }

  /** The guest has read what it was sent. */
  #drained(): void {
    this.#gateway?.drained();
    for (const [, { upload }] of this.flights) upload?.proceed();
  }

  abort(id: number, reason: AbortReason): void {
    if (this.flights.get(id)) this.#outbox.push(textFrame(TO_GUEST.abort, id, reason));
  }

  /**
   * Gives up a run whose client has left: the task is told, and what it still answers is ignored. It may go on all the
   * same, so a guest that many have left is replaced.
   */
  abandon(id: number): void {
    const flight = this.flights.get(id);
    if (!flight) return;
    this.abort(id, "gone");
    if (flight.answered) return;
    this.#conclude(id, flight);
    if (++this.#abandoned >= MAX_ABANDONED) this.retire();
  }

  /** Lets the guest send more of a body. */
  grant(id: number, bytes: number): void {
    const flight = this.flights.get(id);
    if (!flight || bytes === 0) return;
    flight.window += bytes;
    this.#outbox.push(bytesFrame(TO_GUEST.window, id, u32(bytes)));
  }

  setPriority(priority: Priority): void {
    if (this.priority === priority) return;
    this.priority = priority;
    this.process.setPriority(priority);
  }

  ping(nowMs: number): void {
    this.#outbox.push(bytesFrame(TO_GUEST.ping, this.pulse.ping(nowMs)));
  }

  /** Lets it finish what it has begun and take nothing new, then ends it. */
  retire(): void {
    this.draining = true;
    this.#endIfIdle();
  }

  /** Ends it, with what it is at; one that is at nothing keeps its moment after a deadline. */
  close(cause: Problem): void {
    this.draining = true;
    if (this.flights.size > 0 || !this.#grace) this.end(cause);
  }

  /**
   * Ends a run whose deadline has come, and takes no new one: what it left behind is still there. Its guest has a moment
   * more, for those who listen to the signal.
   */
  expire(id: number, problem: Problem): void {
    this.abort(id, "deadline");
    this.draining = true;
    this.#grace ??= setTimeout(() => {
      this.#grace = null;
      this.#endIfIdle();
    }, GRACE_MS);
    this.fail(id, problem);
  }

  /** Ends one run in the guest's stead, and answers it if it was not; what the guest still says of it is ignored. */
  fail(id: number, problem: Problem): void {
    const flight = this.flights.get(id);
    if (!flight) return;
    this.#take(id, flight);
    if (flight.answered) flight.log.lost(problem);
    else flight.listener.fault(problem);
    flight.listener.over();
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
    clearTimeout(this.#grace ?? undefined);
    this.process.kill();
    this.process.socket.destroy();
    this.pulse.end();
    this.#gateway?.close();
    for (const [id] of this.flights) this.fail(id, id === culprit?.id ? culprit.cause : cause);
  }

  /** As `end`, where the guest's own tasks are the cause. */
  crash(cause: Problem, culprit?: { id: number; cause: Problem }): void {
    if (!this.ended) this.crashedMs ??= performance.now();
    this.end(cause, culprit);
  }

  #receive(type: number, id: number, payload: Buffer): void {
    if (this.ended) return;
    switch (type) {
      case FROM_GUEST.ready:
        this.warm = true;
        return this.#warm.resolve();
      case FROM_GUEST.pong:
        if (!this.pulse.take(id)) this.#hearNoise();
        return;
      case FROM_GUEST.retire:
        return this.draining ? this.#hearNoise() : this.retire();
      case FROM_GUEST.compiled:
        if (!this.#codes.compiled(id, payload)) this.#hearNoise();
        return;
    }
    if (type >= FROM_GUEST.open && type <= FROM_GUEST.lookup) {
      this.#gateway ??= new Gateway(this.#egress, this.net, this.#link);
      if (!this.#gateway.receive(type, id, payload)) this.#hearNoise();
      return;
    }
    if (type === FROM_GUEST.log || type === FROM_GUEST.unheard) return this.#hearAside(type, id, payload);
    // Before anything is parsed: what nobody waits for is not worth it.
    const flight = this.flights.get(id);
    if (type === FROM_GUEST.bodyMore)
      return flight?.upload ? this.#sendMore(flight.upload, payload) : this.#hearNoise();
    if (type === FROM_GUEST.done) return flight?.answered ? this.#finish(id, flight) : this.#hearNoise();
    if (!flight || flight.answered) return KNOWN_TYPES.has(type) ? this.#hearNoise() : this.#break(unknown(type));
    this.#receiveAnswer(type, id, flight, payload);
  }

  #sendMore(upload: Upload, payload: Buffer): void {
    if (payload.length !== 4) return this.#break("a window that is no number");
    upload.more(payload.readUInt32LE());
  }

  #receiveAnswer(type: number, id: number, flight: Flight, payload: Buffer): void {
    switch (type) {
      case FROM_GUEST.waits:
        flight.waits = true;
        return;
      case FROM_GUEST.result:
        if (flight.streaming) return this.#break("a result after a head");
        this.answered++;
        flight.listener.result(payload);
        return this.#conclude(id, flight);
      case FROM_GUEST.head:
        return flight.head(payload, this.#limits.streamMs);
      case FROM_GUEST.data:
        return flight.data(payload);
      case FROM_GUEST.end:
        if (!flight.streaming) return this.#break("an end before its head");
        this.answered++;
        flight.listener.end();
        return this.#conclude(id, flight);
      case FROM_GUEST.fault:
        return this.#receiveFault(id, flight, payload);
      default:
        return this.#break(unknown(type));
    }
  }

  #receiveFault(id: number, flight: Flight, payload: Buffer): void {
    const { problem, retire } = parseFault(payload);
    if (retire) {
      // Who ended the process is known, and answered: it was none of the others, even where one alone is left.
      if (problem.code === "task_exited") this.#endedBy = EXITED_BY_ANOTHER;
      this.draining = true;
      this.crashedMs ??= performance.now();
    } else this.answered++;
    flight.listener.fault(problem);
    this.#conclude(id, flight);
    if (retire) this.retire();
  }

  /** What a run says beside its answer, perhaps when it is over. Of no run it is the only one's there is. */
  #hearAside(type: number, id: number, payload: Buffer): void {
    const of = id === 0 ? (this.flights.only ?? 0) : id;
    const log = this.flights.get(of)?.log ?? this.#past.get(of);
    const { logs } = this.#limits;
    const heard = type === FROM_GUEST.log ? log?.line(payload, logs) : log?.unheard(payload, logs);
    if (!heard) this.#hearNoise();
  }

  /** A frame that nobody asked for: honest when it crossed with an abort, an attack on the service's time in masses. */
  #hearNoise(): void {
    if (++this.noise > MAX_NOISE) this.#break(`more than ${MAX_NOISE} frames that nobody asked for`);
  }

  /** A run has its answer, or nobody waits for it: it is over, unless it has work that goes on. */
  #conclude(id: number, flight: Flight): void {
    if (flight.waits) flight.leaveWork(this.#limits.wallMs);
    else this.#finish(id, flight);
  }

  #finish(id: number, flight: Flight): void {
    this.#take(id, flight);
    flight.listener.over();
  }

  #take(id: number, flight: Flight): void {
    this.flights.take(id);
    flight.upload?.stop();
    this.#past.add(id, flight.log);
    this.#gateway?.runEnded(id);
    // After the caller has been told: the end must not overtake the answer.
    if (this.draining && this.flights.size === 0) queueMicrotask(() => this.#endIfIdle());
  }

  #endIfIdle(): void {
    if (this.flights.size === 0 && !this.#grace) this.end(REPLACED);
  }

  #break(what: string): never {
    throw new Error(what);
  }
}

/** Waits until all was read that the other end has written, which has ended. */
async function readToEnd(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const late = AbortSignal.timeout(END_MS);
  await once(socket, "close", { signal: late }).catch(() => {});
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
