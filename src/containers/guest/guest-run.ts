import type { EgressUse } from "../../egress/budgets.ts";
import type { Refusal } from "../../egress/faults.ts";
import type { Problem } from "../../errors.ts";
import {
  type AnswersBy,
  DATA_BYTES,
  DATA_FRAME_COST_BYTES,
  type HeadMessage,
  WINDOW_BYTES,
} from "../../wire/messages.ts";
import type { Code, KnownCode } from "./code-table.ts";
import { parseHead } from "./parse-messages.ts";
import { RunLog, type RunLogSink } from "./run-log.ts";
import type { RequestBody, Upload } from "./upload.ts";

/**
 * A run that the guest executes, and its state.
 *
 * Its methods take frames of the guest, and throw if a frame is out of order. The service then ends the guest.
 */
export class GuestRun {
  readonly listener: RunListener;
  readonly log: RunLog;
  readonly code: Pick<KnownCode, "answersBy" | "id">;
  /** On the clock of `performance.now()`. It moves when the head of a stream arrives, unless the run has its own timeout. */
  deadlineMs: number;
  /** The timeout of this run, if it is shorter than the limit for all runs; otherwise null. */
  readonly timeoutMs: number | null;
  /** Its code, if the builder may have to make JavaScript from texts of it. */
  submitted: Code | null = null;
  /** The token family of its caller, whose shares of the builder and of the network it uses. */
  family = "";
  /** The token family, or the site without a token, that requested it. */
  caller = "";
  /** Whether the guest has asked for JavaScript of its texts. */
  hasAsked = false;
  /** Aborts when the run ends while it waits for the builder; null if it does not wait. */
  transforming: AbortController | null = null;
  /** The body of its request, if it is streamed to the guest. */
  upload: Upload | null = null;
  /** Bytes of the body that the guest may still send. */
  window: number = WINDOW_BYTES;
  /** Whether the head of its stream has arrived. */
  streaming = false;
  /** Whether it has called `waitUntil`, so that it does not end with its answer. */
  waits = false;
  /** Whether the guest has reported that its result is probably not what the author of its code meant. */
  hasHint = false;
  /** Whether it has its answer, or its client has left. Its `waitUntil` work continues. */
  answered = false;

  /** @param timeoutMs the timeout of this run; it applies if it is shorter than `wallMs`. */
  constructor(
    listener: RunListener,
    { nowMs, wallMs, timeoutMs }: { nowMs: number; wallMs: number; timeoutMs: number },
    code: Pick<KnownCode, "answersBy" | "id">,
  ) {
    this.code = code;
    this.listener = listener;
    this.log = new RunLog(listener.logSink);
    this.deadlineMs = nowMs + Math.min(wallMs, timeoutMs);
    this.timeoutMs = timeoutMs < wallMs ? timeoutMs : null;
  }

  /** @param streamMs the maximum time until the end of the stream. */
  head(payload: Buffer, streamMs: number): void {
    if (this.streaming) throw new Error("a second head");
    this.streaming = true;
    if (this.timeoutMs === null) this.deadlineMs = performance.now() + streamMs;
    this.listener.head(parseHead(payload), this.code.answersBy);
  }

  data(payload: Buffer): void {
    this.window -= payload.length + DATA_FRAME_COST_BYTES;
    if (!this.streaming) throw new Error("a body before its head");
    if (payload.length > DATA_BYTES || this.window < 0) throw new Error("a body beyond its window");
    this.listener.data(payload);
  }

  /** Lets the work that was passed to `waitUntil` continue. @param wallMs the maximum time for it, if the deadline is later. */
  leaveWork(wallMs: number): void {
    this.answered = true;
    this.deadlineMs = Math.min(this.deadlineMs, performance.now() + wallMs);
  }
}

/**
 * Receives the answer of a run: either `result` or `fault`, or `head`, then `data`, then `end` or `fault`. `over` follows
 * exactly once. It comes alone if the run has no answer.
 */
export interface RunListener {
  result(json: Buffer): void;
  /** The result, which follows, is probably not what the author of the code meant. */
  hinted?(hint: string): void;
  /** @param answersBy as the guest reports it of the code */
  head(head: HeadMessage, answersBy: AnswersBy): void;
  data(bytes: Buffer): void;
  end(): void;
  fault(problem: Problem): void;
  /** The guest has finished the run. */
  over(): void;
  /** The run asked for a destination that it may not reach. This may follow `over`, because a lookup of a name takes time. */
  refused(refusal: Refusal): void;
  /** The run has used the network for the first time. The counts change until its end. */
  usesEgress(use: EgressUse): void;
  readonly logSink: RunLogSink;
}

/** How a run differs from other runs of its code. */
export interface RunOptions {
  readonly timeoutMs?: number;
  readonly body?: RequestBody | null;
  /** Whether only a fetch handler answers it. Then it has no body. */
  readonly isPreflight?: boolean;
  /** The token family that the builder works for, if it has to make JavaScript from the code. */
  readonly family?: string;
  /** The token family that requested the run, or the site of a client without a token. */
  readonly caller?: string;
}
