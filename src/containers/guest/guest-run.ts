import type { Refusal } from "../../egress/faults.ts";
import type { Problem } from "../../errors.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, type HeadMessage, WINDOW_BYTES } from "../../wire/messages.ts";
import type { KnownCode } from "./code-table.ts";
import { parseHead } from "./parse-messages.ts";
import { RunLog, type RunLogSink } from "./run-log.ts";
import type { Upload } from "./upload.ts";

/**
 * One run that the guest is at, and what may still come of it.
 *
 * Its methods take frames of the guest, and throw at one that is out of order: that is the end of the guest.
 */
export class GuestRun {
  readonly listener: RunListener;
  readonly log: RunLog;
  readonly code: Pick<KnownCode, "answersBy">;
  /** On the clock of `performance.now()`. Moves when the head of a stream has come. */
  deadlineMs: number;
  /** The body of its request, where that is sent as it comes. */
  upload: Upload | null = null;
  /** Bytes of the body that the guest may still send. */
  window: number = WINDOW_BYTES;
  /** Its head has come. */
  streaming = false;
  /** It has given something to `waitUntil`: its answer is not its end. */
  waits = false;
  /** It has its answer, or nobody waits for one; what it gave to `waitUntil` goes on. */
  answered = false;

  constructor(listener: RunListener, deadlineMs: number, code: Pick<KnownCode, "answersBy">) {
    this.code = code;
    this.listener = listener;
    this.log = new RunLog(listener.logSink);
    this.deadlineMs = deadlineMs;
  }

  /** @param streamMs is how long the stream may take from here on. */
  head(payload: Buffer, streamMs: number): void {
    if (this.streaming) throw new Error("a second head");
    this.streaming = true;
    this.deadlineMs = performance.now() + streamMs;
    this.listener.head(parseHead(payload));
  }

  data(payload: Buffer): void {
    this.window -= payload.length + DATA_FRAME_COST_BYTES;
    if (!this.streaming) throw new Error("a body before its head");
    if (payload.length > DATA_BYTES || this.window < 0) throw new Error("more of a body than was asked for");
    this.listener.data(payload);
  }

  /** @param wallMs is how long what goes on may take at the most, if its deadline is not sooner. */
  leaveWork(wallMs: number): void {
    this.answered = true;
    this.deadlineMs = Math.min(this.deadlineMs, performance.now() + wallMs);
  }
}

/**
 * What a run tells whoever waits for it: `result` or `fault` alone, or `head`, then `data`, then `end` or `fault`; and
 * once, after these or in their stead, `over`.
 */
export interface RunListener {
  result(json: Buffer): void;
  head(head: HeadMessage): void;
  data(bytes: Buffer): void;
  end(): void;
  fault(problem: Problem): void;
  /** The guest is done with it. */
  over(): void;
  /** It asked for a place that it may not reach. Also after its end: a name takes time to be looked up. */
  refused(refusal: Refusal): void;
  readonly logSink: RunLogSink;
}
