/** What an operator sets of the way out. */
export interface EgressLimits {
  /** Open at once, of one run. */
  readonly connections: number;
  /** Of one run, both directions together. */
  readonly bytes: number;
  /** Of one connection, from being asked for to its end. */
  readonly timeMs: number;
}

/** Of one guest, over all its runs: each costs the service a descriptor and its buffers. */
export const MAX_STREAMS: number = 256;
/**
 * While half of the connections of the service are open, a guest opens no more than one of so many parts of all: sixteen
 * guests, which one token and those below it may have alive, would otherwise hold all connections with their streams.
 */
export const GUEST_PARTS: number = 64;
/** Of one run, over all its time, and as many lookups: stops port scans, and a name server that is fed with secrets. */
export const MAX_OPENS: number = 1_000;
/** Of one guest: DNS is asked for so many names at a time. */
export const MAX_LOOKUPS: number = 64;
/** Names of one guest whose answers are remembered, for tasks that resolve first and connect later. */
export const MAX_REMEMBERED: number = 256;
/** Of one guest, all streams together: what peers that do not read make the service hold. Thirty-two full windows. */
export const MAX_UNSENT_BYTES: number = 8 * 2 ** 20;
/** What peers sent goes to the guest only while less waits for it than this: other frames are never far behind it. */
export const MAX_WAITING_BYTES: number = 128 * 2 ** 10;
/** Answers that a guest does not read. An honest one, blocked for seconds, gets some thousand bytes of them. */
export const MAX_UNREAD_BYTES: number = 2 ** 20;
/** For DNS and for all addresses of a name together. */
export const CONNECT_MS: number = 10_000;
/** Connections outlive their run, for pools; but not for long when no other run comes. */
export const LINGER_MS: number = 5_000;
/** For what was sent before a reset to reach a peer that is slow to read. */
export const FLUSH_MS: number = 5_000;
