import { type Egress, Gateway } from "../../egress/gateway.ts";
import type { NetClaim } from "../../egress/narrow.ts";
import { NO_EGRESS } from "../../egress/none.ts";
import { Problem } from "../../errors.ts";
import type { GuestProcess, Priority } from "../../sandbox/sandbox.ts";
import { bytesFrame, textFrame } from "../../wire/frames.ts";
import { type AbortReason, TO_GUEST } from "../../wire/messages.ts";
import { Heartbeat } from "../watch/heartbeat.ts";
import { CodeTable, type Code } from "./code-table.ts";
import { egressLink } from "./egress-link.ts";
import { EXITED_BY_ANOTHER, exitCause, forgeryCause, REPLACED } from "./exit-causes.ts";
import { GuestConnection } from "./guest-connection.ts";
import type { GuestLimits } from "./guest-limits.ts";
import { GuestRun, type RunListener } from "./guest-run.ts";
import { Noise } from "./noise.ts";
import { receiveFrame, type FrameTarget } from "./receive-frame.ts";
import { PastLogs } from "./run-log.ts";
import { RunTable } from "./run-table.ts";
import { bodyTarget, type RequestBody, Upload } from "./upload.ts";

/** A guest is ready within a tenth of a second; a busy machine takes longer. */
const START_MS = 15_000;
/** As many runs as a container may have in flight by default: so many more at the most may go on unseen. */
const MAX_ABANDONED = 64;
/** Enough to write a line or to let go of something; a guest whose event loop is free needs a fraction. */
const GRACE_MS = 100;

/** The service's end of a guest: the runs in flight, what is sent of them, and the one cause of its end. */
export class Guest implements FrameTarget {
  readonly process: GuestProcess;
  readonly limits: GuestLimits;
  readonly inFlight: RunTable<GuestRun> = new RunTable();
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
  /** What the tokens of its isolation group leave of the egress policy; set when it is given to one, before any run. */
  net: NetClaim = null;
  priority: Priority = "high";
  readonly heartbeat: Heartbeat = new Heartbeat();
  readonly noise: Noise = new Noise();
  readonly past: PastLogs = new PastLogs();
  readonly codes: CodeTable;
  readonly #line: GuestConnection;
  readonly #egress: Egress;
  #gateway: Gateway | null = null;
  #abandoned = 0;
  /** Runs while it is kept for what hears of a deadline. */
  #grace: NodeJS.Timeout | null = null;
  readonly #warm: PromiseWithResolvers<void> = Promise.withResolvers();
  /** What the others are answered when one of its runs has ended its process. */
  #endedBy: Problem | null = null;

  constructor(process: GuestProcess, limits: GuestLimits, egress: Egress = NO_EGRESS) {
    this.process = process;
    this.limits = limits;
    this.#egress = egress;
    this.#line = new GuestConnection(process.socket, limits.resultBytes, {
      frame: (type, id, payload) => receiveFrame(this, type, id, payload),
      taken: () => this.#gateway?.drained(),
      drained: () => {
        this.#gateway?.drained();
        for (const [, { upload }] of this.inFlight) upload?.proceed();
      },
      broken: this.#broken,
    });
    this.codes = new CodeTable((frame) => this.#line.push(frame));
    const exited = async (): Promise<void> => {
      const exit = await process.exited;
      if (this.ended) return;
      this.draining = true;
      this.crashedMs ??= performance.now();
      // It comes by another way than the frames, and may overtake the last of them.
      await this.#line.readToEnd();
      this.crash(this.#endedBy ?? exitCause(exit, this.inFlight.size));
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
    const known = this.codes.use(code);
    const parts = known.needsContext ? [u32(known.id), Buffer.from(context())] : [u32(known.id)];
    const guestRun = new GuestRun(listener, nowMs + this.limits.wallMs, known);
    const id = this.inFlight.add(guestRun);
    if (this.runs++ === 0) this.begunMs = nowMs;
    this.ranMs = nowMs;
    // Code that never reads its context reads no body either.
    if (!body || !known.needsContext) this.#line.push(bytesFrame(TO_GUEST.run, id, ...parts));
    else {
      parts.splice(1, 0, u32(body.mostHeld));
      this.#line.push(bytesFrame(TO_GUEST.runWithBody, id, ...parts));
      guestRun.upload = new Upload(body.source, bodyTarget(this.#line, id));
    }
    return id;
  }

  abort(id: number, reason: AbortReason): void {
    if (this.inFlight.get(id)) this.#line.push(textFrame(TO_GUEST.abort, id, reason));
  }

  /**
   * Gives up a run whose client has left: the task is told, and what it still answers is ignored. It may go on all the
   * same, so a guest that many have left is replaced.
   */
  abandon(id: number): void {
    const guestRun = this.inFlight.get(id);
    if (!guestRun) return;
    this.abort(id, "gone");
    if (guestRun.answered) return;
    this.#conclude(id, guestRun);
    if (++this.#abandoned >= MAX_ABANDONED) this.retire();
  }

  /** Lets the guest send more of a body. */
  grant(id: number, bytes: number): void {
    const guestRun = this.inFlight.get(id);
    if (!guestRun || bytes === 0) return;
    guestRun.window += bytes;
    this.#line.push(bytesFrame(TO_GUEST.window, id, u32(bytes)));
  }

  /** Whether it has sent more than it may for now, and is not read. */
  get isPaused(): boolean {
    return !this.ended && this.#line.isPaused;
  }

  /** Lets it send more, once in a tick of the watchdog. @param paused how many guests are paused. */
  tick(paused: number): void {
    this.noise.tick();
    this.#line.refill(paused);
  }

  setPriority(priority: Priority): void {
    if (this.priority === priority) return;
    this.priority = priority;
    this.process.setPriority(priority);
  }

  ping(nowMs: number): void {
    this.#line.push(bytesFrame(TO_GUEST.ping, this.heartbeat.ping(nowMs)));
  }

  /** Lets it finish what it has begun and take nothing new, then ends it. */
  retire(): void {
    this.draining = true;
    this.#endIfIdle();
  }

  /** Ends it, with what it is at; one that is at nothing keeps its moment after a deadline. */
  close(cause: Problem): void {
    this.draining = true;
    if (this.inFlight.size > 0 || !this.#grace) this.end(cause);
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
    const guestRun = this.inFlight.get(id);
    if (!guestRun) return;
    this.#take(id, guestRun);
    if (guestRun.answered) guestRun.log.lost(problem);
    else guestRun.listener.fault(problem);
    guestRun.listener.over();
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
    this.#line.close();
    this.heartbeat.end();
    this.#gateway?.close();
    for (const [id] of this.inFlight) this.fail(id, id === culprit?.id ? culprit.cause : cause);
  }

  /** As `end`, where the guest's own tasks are the cause. */
  crash(cause: Problem, culprit?: { id: number; cause: Problem }): void {
    if (!this.ended) this.crashedMs ??= performance.now();
    this.end(cause, culprit);
  }

  /** Made when the guest first asks for the network, which is after it was given to an isolation group. */
  get gateway(): Gateway {
    return (this.#gateway ??= new Gateway(this.#egress, this.net, egressLink(this.inFlight, this.#line, this.#broken)));
  }

  warmedUp(): boolean {
    if (this.warm) return false;
    this.warm = true;
    this.#warm.resolve();
    return true;
  }

  answeredWhole(id: number, guestRun: GuestRun): void {
    this.answered++;
    this.#conclude(id, guestRun);
  }

  failed(id: number, guestRun: GuestRun, problem: Problem, breaks: boolean): void {
    if (breaks) {
      // Who ended the process is known, and answered: it was none of the others, even where one alone is left.
      if (problem.code === "task_exited") this.#endedBy = EXITED_BY_ANOTHER;
      this.draining = true;
      this.crashedMs ??= performance.now();
    } else this.answered++;
    guestRun.listener.fault(problem);
    this.#conclude(id, guestRun);
    if (breaks) this.retire();
  }

  /** A run has its answer, or nobody waits for it: it is over, unless it has work that goes on. */
  #conclude(id: number, guestRun: GuestRun): void {
    if (guestRun.waits) guestRun.leaveWork(this.limits.wallMs);
    else this.finished(id, guestRun);
  }

  finished(id: number, guestRun: GuestRun): void {
    this.#take(id, guestRun);
    guestRun.listener.over();
  }

  #take(id: number, guestRun: GuestRun): void {
    this.inFlight.take(id);
    guestRun.upload?.stop();
    this.past.add(id, guestRun.log);
    this.#gateway?.runEnded(id);
    // After the caller has been told: the end must not overtake the answer.
    if (this.draining && this.inFlight.size === 0) queueMicrotask(() => this.#endIfIdle());
  }

  #endIfIdle(): void {
    if (this.inFlight.size === 0 && !this.#grace) this.end(REPLACED);
  }

  readonly #broken = (error: Error): void => this.crash(forgeryCause(error, this.inFlight.size));
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
