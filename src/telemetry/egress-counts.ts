/** What all guests together have done on the way out since the service started. */
export interface EgressCounts {
  /** Connections that are being made or stand. */
  open: number;
  /** Connections that were asked for and not refused at once. */
  asked: number;
  lookups: number;
  /** Bytes that tasks sent and received. */
  bytes: number;
  /** Attempts that were refused, by the reason. */
  readonly refused: Record<string, number>;
}

export function egressCounts(): EgressCounts {
  return { open: 0, asked: 0, lookups: 0, bytes: 0, refused: {} };
}
