import { type Egress, NO_EGRESS } from "../../egress/egress.ts";
import { Gateway } from "../../egress/gateway.ts";
import type { NetClaim } from "../../egress/restrict-policy.ts";
import { Problem } from "../../errors.ts";
import type { GuestProcess, Priority } from "../../sandbox/sandbox.ts";
import { bytesFrame, textFrame } from "../../wire/frames.ts";
import { TO_GUEST } from "../../wire/messages.ts";
import { Heartbeat } from "../watch/heartbeat.ts";
import { CodeTable, type Code } from "./code-table.ts";
import { egressLink } from "./egress-link.ts";
import { EXITED_BY_ANOTHER, exitCause, forgeryCause, REPLACED } from "./exit-causes.ts";
import { GuestConnection } from "./guest-connection.ts";
import type { GuestHelpers, GuestLimits } from "./guest-limits.ts";
import { GuestRun, type RunListener, type RunOptions } from "./guest-run.ts";
import { awaitStart } from "./guest-start.ts";
import { Noise } from "./noise.ts";
import { receiveFrame, type FrameTarget } from "./receive-frame.ts";
import { type RunningGuest, RunsInFlight } from "./runs-in-flight.ts";
import { mayNeedTransform, transformRun, type TransformText } from "./transform-texts.ts";
import { stalledProblem } from "./unanswered.ts";

/** The time for tasks to react to a deadline: enough to write a line or to release something. */
const GRACE_MS = 100;

/** A guest as the service sees it: its start, the frames to it, and the one cause of its end. */
export class Guest implements FrameTarget, RunningGuest {
  readonly process: GuestProcess;
  readonly limits: GuestLimits;
  readonly inFlight: RunsInFlight;
  readonly startedMs: number = performance.now();
  /** Whether it takes no new run, and ends after its runs in flight. */
  draining = false;
  ended = false;
  /** Whether it takes runs only until its slot has room for a further draining guest. */
  isDue = false;
  /** Whether it may begin to drain. The slot sets it. */
  mayDrain: (guest: Guest) => boolean = () => true;
  /** Whether it has reported the end of its start. A task may run in it only after that. */
  warm = false;
  /** When its tasks broke it, on the clock of `performance.now()`. Null while it lives, and if the service replaced it. */
  crashedMs: number | null = null;
  runs = 0;
  /** When it received its first run; infinite before. */
  begunMs: number = Number.POSITIVE_INFINITY;
  /** When it received its last run; 0 before. */
  ranMs = 0;
  /** The number of runs that it ended itself and survived. */
  answered = 0;
  /** The egress that the tokens of its isolation group allow. The slot sets it before any run. */
  net: NetClaim = null;
  /** The token family that it counts for. The slot sets it before any run. */
  ownerFamily = "";
  priority: Priority = "high";
  readonly heartbeat: Heartbeat = new Heartbeat();
  readonly noise: Noise = new Noise();
  readonly codes: CodeTable;
  readonly #connection: GuestConnection;
  readonly #egress: Egress;
  readonly #transformText: TransformText | null;
  #gateway: Gateway | null = null;
  /** Runs while tasks may still react to a deadline. The guest does not end before it fires. */
  #grace: NodeJS.Timeout | null = null;
  readonly #warm: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Whether its process ends because the service interrupted it, and the service then ends the guest. */
  #isInterrupted = false;
  /** The answer to its other runs if one of its runs has ended its process. */
  #endedBy: Problem | null = null;

  constructor(
    process: GuestProcess,
    limits: GuestLimits,
    egress: Egress = NO_EGRESS,
    { transform = null, cacheOf }: GuestHelpers = {},
  ) {
    this.process = process;
    this.limits = limits;
    this.#egress = egress;
    this.#transformText = transform;
    this.#connection = new GuestConnection(process.socket, limits.resultBytes, {
      frame: (type, id, payload) => receiveFrame(this, type, id, payload),
      taken: () => this.#gateway?.drained(),
      drained: () => {
        this.#gateway?.drained();
        for (const [, { upload }] of this.inFlight) upload?.proceed();
      },
      broken: this.#onProtocolError,
    });
    this.inFlight = new RunsInFlight(this, this.#connection, limits.wallMs);
    this.codes = new CodeTable((frame, ...rest) => this.#connection.push(frame, ...rest), cacheOf);
    const exited = async (): Promise<void> => {
      const exit = await process.exited;
      if (this.ended || this.#isInterrupted) return;
      this.draining = true;
      this.crashedMs ??= performance.now();
      // The exit arrives on another channel than the frames, and may overtake the last frames.
      await this.#connection.readToEnd();
      this.crash(this.#endedBy ?? exitCause(exit, this.inFlight.size));
    };
    void exited();
  }

  /** Resolves when the guest is warm and under its limits. @throws {Problem} `sandbox_failed` if it ends before. */
  async ready(): Promise<this> {
    await awaitStart(this.process, this.#warm.promise, () => this.end(REPLACED));
    return this;
  }

  /**
   * Sends a run to the guest.
   *
   * @param context creates the run's context as JSON. It is not called for code that never reads its context.
   * @param options `timeoutMs`: the timeout of this run; it never exceeds the limit for all runs. `body`: the body of the
   *   request if it is not a part of the context. Only the guest may read it, at its own pace.
   * @returns the id that `abort`, `grant` and the guest use for the run.
   * @throws {Problem} `sandbox_failed` if the guest has just ended.
   */
  run(
    code: Code,
    context: () => string,
    listener: RunListener,
    nowMs: number,
    { timeoutMs = Infinity, body = null, isPreflight = false, family = "", caller = "" }: RunOptions = {},
  ): number {
    if (this.ended) throw new Problem("sandbox_failed", "the container ended before the run could begin");
    const known = this.codes.use(code, family);
    const sentContext = known.needsContext ? Buffer.from(context()) : null;
    const guestRun = new GuestRun(listener, { nowMs, wallMs: this.limits.wallMs, timeoutMs }, known);
    guestRun.family = family;
    guestRun.caller = caller;
    if (this.#transformText && !known.isCompiled && mayNeedTransform(code)) guestRun.submitted = code;
    const id = this.inFlight.send(guestRun, sentContext, body, isPreflight);
    if (this.runs++ === 0) this.begunMs = nowMs;
    this.ranMs = nowMs;
    return id;
  }

  /** Returns the listeners of its runs in flight. */
  *listeners(): Generator<RunListener> {
    for (const [, { listener }] of this.inFlight) yield listener;
  }

  /** Whether it has spent its frame budget, so that the service does not read it. */
  get isPaused(): boolean {
    return !this.ended && this.#connection.isPaused;
  }

  /** Refills its frame budget, once in a tick of the watchdog. @param paused the number of paused guests. */
  tick(paused: number): void {
    this.noise.tick();
    this.#connection.refill(paused);
  }

  setPriority(priority: Priority): void {
    if (this.priority === priority || this.#isInterrupted) return;
    this.priority = priority;
    this.process.setPriority(priority);
  }

  ping(nowMs: number): void {
    this.#connection.pushPing(bytesFrame(TO_GUEST.ping, this.heartbeat.ping(nowMs)));
  }

  /** Lets it finish its runs and take no new run, then ends it. */
  retire(): void {
    this.draining = true;
    this.#endIfIdle();
  }

  /**
   * Retires it for what one of its runs has left behind, or for its age. If too many guests of its slot drain already, it stays until there
   * is room or until no run is in flight. Otherwise a further draining guest would end the oldest, with the runs of callers that did nothing.
   */
  retireWhenPossible(): void {
    this.isDue = true;
    if (!this.draining && this.mayDrain(this)) this.retire();
    else this.#endIfIdle();
  }

  /** Ends it with its runs. A guest without runs keeps its grace time after a deadline. */
  close(cause: Problem): void {
    this.draining = true;
    if (this.inFlight.size > 0 || !this.#grace) this.end(cause);
  }

  /**
   * Ends a run that has reached the limit for all runs, and retires the guest when possible, because what the run left behind is still
   * there. The guest lives for a short grace time, so that listeners of the abort signal can react.
   */
  expire(id: number, problem: Problem): void {
    this.#grace ??= setTimeout(() => {
      this.#grace = null;
      this.#endIfIdle();
    }, GRACE_MS);
    this.inFlight.giveUp(id, problem);
    this.retireWhenPossible();
  }

  /**
   * Ends the guest at once. The first cause wins: a later call does not change it.
   *
   * @param cause the answer to its runs, except for the culprit.
   * @param culprit the run that caused the end, and its own answer.
   */
  end(cause: Problem, culprit?: { id: number; cause: Problem }): void {
    if (this.ended) return;
    this.ended = true;
    this.draining = true;
    clearTimeout(this.#grace ?? undefined);
    this.process.kill();
    this.#connection.close();
    this.heartbeat.end();
    this.#gateway?.close();
    for (const [id] of this.inFlight) this.inFlight.fail(id, id === culprit?.id ? culprit.cause : cause);
  }

  /** Stops what the guest executes. The caller must end the guest then. @returns the stack of it, as hostile text */
  interrupt(): Promise<string> {
    // With the share of a blocked guest, it would print nothing in time on a busy machine.
    this.setPriority("high");
    this.#isInterrupted = true;
    this.draining = true;
    return this.process.interrupt();
  }

  /** Ends the guest like `end`, and records that its own tasks are the cause. */
  crash(cause: Problem, culprit?: { id: number; cause: Problem }): void {
    if (!this.ended) this.crashedMs ??= performance.now();
    this.end(cause, culprit);
  }

  /** Created when the guest first uses the network, and so after it was assigned to an isolation group. */
  get gateway(): Gateway {
    return (this.#gateway ??= new Gateway(
      this.#egress,
      this.net,
      egressLink(this.inFlight, this.#connection, () => this.ownerFamily, this.#onProtocolError),
    ));
  }

  warmedUp(): boolean {
    if (this.warm) return false;
    this.warm = true;
    this.#warm.resolve();
    return true;
  }

  answerComplete(id: number, guestRun: GuestRun): void {
    this.answered++;
    this.inFlight.conclude(id, guestRun);
  }

  failed(id: number, guestRun: GuestRun, problem: Problem, endsGuest: boolean): void {
    if (endsGuest) {
      // The run that ended the process is known and has its answer. So no other run is the cause, even if only one is left.
      if (problem.code === "task_exited") this.#endedBy = EXITED_BY_ANOTHER;
      this.draining = true;
      this.crashedMs ??= performance.now();
    } else this.answered++;
    guestRun.listener.fault(problem);
    this.inFlight.conclude(id, guestRun);
    if (endsGuest) this.retire();
  }

  /** Makes JavaScript from texts of a run's code, for which the run waits. @throws {Error} if the guest may not ask */
  transform(id: number, guestRun: GuestRun, payload: Buffer): void {
    const made = transformRun(guestRun, payload, this.#transformText);
    const settle = (send: () => void): void => {
      if (this.inFlight.get(id) === guestRun) send();
    };
    void made.then(
      (answer) => settle(() => this.#connection.push(textFrame(TO_GUEST.transformed, id, JSON.stringify(answer)))),
      (problem: Problem) => settle(() => this.inFlight.giveUp(id, problem)),
    );
  }

  /**
   * Ends a run that nothing can ever end, as the guest reports. A forged report ends only a run of the same isolation
   * group, as other forged frames do. The run could also end itself, so it gains nothing.
   */
  stalled(id: number, guestRun: GuestRun, framesReceived: number): void {
    const hasOther = this.inFlight.size !== 1 || guestRun.upload?.isOpen === true;
    const mayHear = framesReceived !== this.#connection.sent || this.#gateway?.isIdle === false;
    if (hasOther || mayHear || guestRun.streaming || guestRun.transforming) return;
    this.inFlight.giveUp(id, stalledProblem(guestRun));
  }

  /** Follows the end of a run. */
  left(id: number, family: string): void {
    this.#gateway?.runEnded(id, family);
    // Deferred until the client has its answer: the end of the guest must not overtake it.
    if ((this.draining || this.isDue) && this.inFlight.size === 0) queueMicrotask(() => this.#endIfIdle());
  }

  #endIfIdle(): void {
    if (this.inFlight.size === 0 && !this.#grace) this.end(REPLACED);
  }

  readonly #onProtocolError = (error: Error): void => this.crash(forgeryCause(error, this.inFlight.size));
}
