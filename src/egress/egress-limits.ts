/** The limits of network access that an operator configures. */
export interface EgressLimits {
  /** The maximum number of open connections of one run. */
  readonly connections: number;
  /** The maximum number of bytes of one run in both directions. */
  readonly bytes: number;
  /** The maximum time of one connection, from the request to its end. */
  readonly timeMs: number;
}

/**
 * The maximum number of streams of all runs of one guest. Each stream takes a file descriptor and buffers of the
 * service.
 */
export const MAX_STREAMS: number = 256;
/**
 * The maximum number of connections that one run may request, and the maximum number of its lookups. It stops port
 * scans, and the transfer of secrets to a name server.
 */
export const MAX_OPENS: number = 1_000;
/** The maximum number of simultaneous DNS lookups of one guest. */
export const MAX_LOOKUPS: number = 64;
/** The maximum number of remembered lookups of one guest, for tasks that resolve first and connect later. */
export const MAX_REMEMBERED: number = 256;
/** The maximum of unsent data of all streams of one guest, for peers that do not read: thirty-two full windows. */
export const MAX_UNSENT_BYTES: number = 8 * 2 ** 20;
/**
 * Data of peers is sent to the guest only while less than this waits for it, so that other frames are not delayed long.
 */
export const MAX_WAITING_BYTES: number = 128 * 2 ** 10;
/** The maximum of unread answers of a guest. An honest guest that is blocked for seconds has some thousand bytes. */
export const MAX_UNREAD_BYTES: number = 2 ** 20;
/** The time limit for DNS and for the connection attempts to all addresses of a name. */
export const CONNECT_MS: number = 10_000;
/**
 * The time after which connections are closed if the guest has no run. Connections outlive their run for connection
 * pools.
 */
export const LINGER_MS: number = 5_000;
/** The time in which data that was sent before a reset can still reach a slow peer. */
export const FLUSH_MS: number = 5_000;
