/** The network use of all guests since the service started. */
export interface EgressCounts {
  /** Connections that are open or being established. */
  open: number;
  /** Connections that were requested and not refused at once. */
  asked: number;
  lookups: number;
  /** The bytes that tasks sent and received. */
  bytes: number;
  /** The number of refused attempts by reason. */
  readonly refused: Record<string, number>;
}

export function egressCounts(): EgressCounts {
  return { open: 0, asked: 0, lookups: 0, bytes: 0, refused: {} };
}
