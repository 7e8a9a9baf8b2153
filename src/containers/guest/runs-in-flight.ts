import { crc32 } from "node:zlib";

import type { Problem } from "../../errors.ts";
import { bytesFrame, numberFrame, textFrame } from "../../wire/frames.ts";
import { type AbortReason, TO_GUEST } from "../../wire/messages.ts";
import type { Heartbeat } from "../watch/heartbeat.ts";
import type { GuestConnection } from "./guest-connection.ts";
import type { GuestRun } from "./guest-run.ts";
import { LeftRuns } from "./left-runs.ts";
import { PastRuns } from "./run-log.ts";
import { RunTable } from "./run-table.ts";
import { bodyTarget, type RequestBody, Upload } from "./upload.ts";

/** The maximum number of abandoned runs, which may continue uncounted: the default concurrency of a container. */
const MAX_ABANDONED = 64;
/** A guest that ends because of a cancelled run has lived for this long, so that a caller who cancels all the time uses few starts. */
const LEAST_LIFE_MS = 5_000;

/** The part of a guest that its runs need. */
export interface RunningGuest {
  /** When it received its first run; infinite before. */
  readonly begunMs: number;
  readonly heartbeat: Heartbeat;
  /** Lets it finish its runs and take no new run, then ends it. */
  retire(): void;
  /** Retires it as soon as not too many guests of its slot drain. */
  retireWhenPossible(): void;
  /** Called when a run has left the table, before its listener receives the end. */
  left(id: number, family: string): void;
}

/**
 * The runs that a guest executes: what is sent for each of them, and the ways in which they end before the guest does. A run
 * leaves the table when it ends, and its log stays for lines that arrive late.
 */
export class RunsInFlight extends RunTable<GuestRun> {
  /** The logs of ended runs. */
  readonly past: PastRuns = new PastRuns();
  readonly #guest: RunningGuest;
  readonly #connection: GuestConnection;
  readonly #workMs: number;
  /** The runs that were abandoned, given up or cancelled. Their code may continue. */
  readonly left: LeftRuns = new LeftRuns();
  #hasCancelled = false;

  /** @param workMs the maximum time for the work that a run passed to `waitUntil` */
  constructor(guest: RunningGuest, connection: GuestConnection, workMs: number) {
    super();
    this.#guest = guest;
    this.#connection = connection;
    this.#workMs = workMs;
  }

  /**
   * Sends a run to the guest.
   *
   * @param context null for code that never reads its context, which reads no body either.
   * @param body the body of the request if it is not a part of the context.
   * @returns its id.
   */
  send(guestRun: GuestRun, context: Buffer | null, body: RequestBody | null, isPreflight: boolean): number {
    const id = this.add(guestRun);
    const codeId = u32(guestRun.code.id);
    if (context !== null && body) {
      this.#connection.push(
        bytesFrame(TO_GUEST.runWithBody, id, codeId, u32(body.mostHeld), u32(crc32(body.caller)), context),
      );
      guestRun.upload = new Upload(body, bodyTarget(this.#connection, id));
      return id;
    }
    const type = isPreflight ? TO_GUEST.preflight : TO_GUEST.run;
    this.#connection.push(context === null ? bytesFrame(type, id, codeId) : bytesFrame(type, id, codeId, context));
    return id;
  }

  /** Allows the guest to send more bytes of a response body. */
  grant(id: number, bytes: number): void {
    const guestRun = this.get(id);
    if (!guestRun || bytes === 0) return;
    guestRun.window += bytes;
    this.#connection.push(numberFrame(TO_GUEST.window, id, bytes));
  }

  abort(id: number, reason: AbortReason): void {
    if (this.get(id)) this.#connection.push(textFrame(TO_GUEST.abort, id, reason));
  }

  /** Ends a run that has its answer, or whose client has left, unless its `waitUntil` work continues. */
  conclude(id: number, guestRun: GuestRun): void {
    if (guestRun.waits) guestRun.leaveWork(this.#workMs);
    else this.finish(id, guestRun);
  }

  /** Ends a run that has its answer. */
  finish(id: number, guestRun: GuestRun): void {
    this.#remove(id, guestRun);
    guestRun.listener.over();
  }

  /** Ends a run without the guest, and answers it if it has no answer. Later frames of the run are ignored. */
  fail(id: number, problem: Problem): void {
    const guestRun = this.get(id);
    if (!guestRun) return;
    this.#remove(id, guestRun);
    if (guestRun.answered) guestRun.log.lateProblem(problem);
    else guestRun.listener.fault(problem);
    guestRun.listener.over();
  }

  /**
   * Gives up a run whose client has left. The task receives an abort, and its answer is ignored. It may continue
   * nevertheless, so a guest with many abandoned runs is replaced.
   */
  abandon(id: number): void {
    const guestRun = this.get(id);
    if (!guestRun) return;
    this.abort(id, "gone");
    if (guestRun.answered) return;
    this.conclude(id, guestRun);
    this.#countLeft(guestRun);
  }

  /**
   * Ends a run whose own timeout has passed. As after `abandon`, the task may continue, and the guest keeps taking runs:
   * otherwise callers with short timeouts would make the service replace guests all the time.
   */
  giveUp(id: number, problem: Problem): void {
    const guestRun = this.get(id);
    if (!guestRun) return;
    this.abort(id, "deadline");
    this.fail(id, problem);
    this.#countLeft(guestRun);
  }

  /**
   * Ends a run for its caller. As after `giveUp`, the guest keeps taking runs: a caller who cancels all the time must not end the runs of
   * others, nor make them wait for other guests. Only the end of the guest stops code that keeps running. A guest that
   * does not answer for its only run ends at once, and `endsIdle` describes how other code is stopped.
   */
  cancel(id: number, problem: Problem): void {
    const guestRun = this.get(id);
    if (!guestRun) return;
    const nowMs = performance.now();
    const isOld = nowMs - this.#guest.begunMs >= LEAST_LIFE_MS;
    const isBlocked = this.size === 1 && this.#guest.heartbeat.isOverdue(nowMs);
    this.abort(id, "gone");
    // The second abort also releases the work that the run passed to `waitUntil`: the service does not wait for it.
    this.abort(id, "deadline");
    this.#hasCancelled = true;
    this.fail(id, problem);
    if (isOld && isBlocked) this.#guest.retire();
    else this.#countLeft(guestRun);
  }

  /** Ends a run for ever, and retires the guest when possible: only the end of the guest stops code that keeps running. */
  kill(id: number, problem: Problem): void {
    const guestRun = this.get(id);
    if (!guestRun) return;
    this.abort(id, "gone");
    this.fail(id, problem);
    this.#countLeft(guestRun);
    this.#guest.retireWhenPossible();
  }

  /** Whether a run was cancelled and no other is in flight. If the guest keeps computing, it does so for a run that has ended. */
  get endsIdle(): boolean {
    const isOld = performance.now() - this.#guest.begunMs >= LEAST_LIFE_MS;
    return this.#hasCancelled && isOld && this.size === 0;
  }

  #countLeft({ caller }: GuestRun): void {
    this.left.add(caller, performance.now());
    if (this.left.size >= MAX_ABANDONED) this.#guest.retireWhenPossible();
  }

  #remove(id: number, guestRun: GuestRun): void {
    this.take(id);
    guestRun.upload?.stop();
    guestRun.transforming?.abort();
    this.past.add(id, guestRun.log, guestRun.family);
    this.#guest.left(id, guestRun.family);
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
