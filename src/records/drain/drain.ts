/** Why records did not reach the collector. */
export interface DrainLosses {
  /** The records that were dropped since the start: the queue was full, or the collector rejected them. */
  readonly dropped: number;
  /** The last error, or null while the collector accepts records. It has no path and no URL. */
  readonly failure: string | null;
}

/** Sends records to a collector outside the service. */
export interface Drain {
  /** Enqueues a record, or drops it if the queue is full. @param text one line of JSON, without its line break. */
  add(text: string): void;
  readonly losses: DrainLosses;
  /** Sends what is queued, for a few seconds at most, and drops the rest. */
  close(): Promise<void>;
}

/** Delivers batches, one at a time. */
export interface DrainSink {
  /**
   * @param lines whole lines, each with its line break.
   * @throws {RejectedBatch} if the collector will never accept this batch. After any other error the batch is sent again.
   */
  deliver(lines: Buffer, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The error of a batch that is not sent again. */
export class RejectedBatch extends Error {
  override readonly name = "RejectedBatch";
}

/** The error of a delivery that asks for a pause, such as `Retry-After`. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  /** The shortest time until the next attempt. */
  readonly pauseMs: number;

  constructor(message: string, pauseMs: number = 0) {
    super(message);
    this.pauseMs = pauseMs;
  }
}
