import type { Refusal } from "../egress/refusals.ts";
import type { Problem } from "../errors.ts";
import { LogAllowance, type LogLimits, noteOf } from "../wire/log-allowance.ts";
import { DATA_BYTES, DATA_FRAME_COST_BYTES, type HeadMessage, WINDOW_BYTES } from "../wire/messages.ts";
import { parseHead } from "./messages.ts";

/** A guest drops what is too much by its own clock, and what it says of that comes on top. */
const LOG_TOLERANCE = 2;
const WARN = 2;

/**
 * One run that the guest has not answered, and what may still come of it.
 *
 * Its methods take frames of the guest, and throw at one that is out of order: that is the end of the guest.
 */
export class Flight {
  readonly listener: RunListener;
  /** On the clock of `performance.now()`. Moves when the head of a stream has come. */
  deadlineMs: number;
  /** Bytes of the body that the guest may still send. */
  window: number = WINDOW_BYTES;
  /** Its head has come. */
  streaming = false;
  /** What it may still log; made when it first logs. */
  #logged: LogAllowance | null = null;

  constructor(listener: RunListener, deadlineMs: number) {
    this.listener = listener;
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

  /** @returns false for what is too much: the guest should have dropped it by itself. */
  log(payload: Buffer, limits: LogLimits): boolean {
    this.#logged ??= new LogAllowance({
      bytes: limits.bytes * LOG_TOLERANCE,
      linesPerSecond: limits.linesPerSecond * LOG_TOLERANCE,
    });
    const verdict = this.#logged.take(payload.length, performance.now());
    if (verdict === "keep") {
      this.listener.log(payload[0] ?? 0, payload.subarray(1));
      return true;
    }
    if (verdict !== "drop") this.listener.log(WARN, Buffer.from(noteOf(verdict, limits)));
    return false;
  }
}

/** What a run tells whoever waits for it: `result` or `fault` alone, or `head`, then `data`, then `end` or `fault`. */
export interface RunListener {
  result(json: Buffer): void;
  head(head: HeadMessage): void;
  data(bytes: Buffer): void;
  end(): void;
  fault(problem: Problem): void;
  log(level: number, text: Buffer): void;
  /** It asked for a place that it may not reach. Also after its end: a name takes time to be looked up. */
  refused(refusal: Refusal): void;
}
