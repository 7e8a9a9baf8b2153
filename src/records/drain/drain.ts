/** Why records did not reach the collector, as numbers since the start. */
export interface DrainLosses {
  /** The records that were dropped because the queue was full: the collector is too slow, or does not answer. */
  readonly dropped: number;
  /** The records that were left out because their family or their container had used its share of the minute. */
  readonly omitted: number;
  /** The records that the collector rejected. */
  readonly rejected: number;
  /** The last error, or null while the collector accepts records. It has no path and no URL. */
  readonly failure: string | null;
}

/** A record that is sent. */
export interface DrainRecord {
  /** The family of tokens whose share it uses. */
  readonly family: string;
  /** The network of a client without a token, which has a part of the share; null if the client has a token. */
  readonly network: string | null;
  readonly container: string;
  /** A lower bound of the bytes of the text. */
  readonly leastBytes: number;
  /** Returns one line of JSON, without its line break. A record that is left out costs no time for it. */
  readonly text: () => string;
}

/** Sends records to a collector outside the service. */
export interface Drain {
  /** Enqueues a record, or drops it. */
  add(record: DrainRecord): void;
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
