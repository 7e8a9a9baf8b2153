import type { Config } from "./config.ts";

/** How much of the machine one service takes: the counts that no setting gives, or that a setting may leave open. */
export interface Capacity {
  /** Guests that are alive for containers. */
  readonly containers: number;
  /** Guests that are alive for the containers of one token family. */
  readonly containersOfFamily: number;
  /** Spare guests that the pool grows to while many containers come. */
  readonly spares: number;
  /** Guests of the sandbox, those that are ending and those of the self-test included. */
  readonly guests: number;
  /** Connections of clients to the service. */
  readonly connections: number;
  /** Connections of all guests and of `task_url`. */
  readonly egressConnections: number;
}

export interface Machine {
  readonly freeBytes: number;
  /** File descriptors of the service's process; `null` for no limit. */
  readonly descriptors: number | null;
}

/** Memory of a container that does nothing. */
const CONTAINER_BYTES = 32 * 2 ** 20;
const LEAST_CONTAINERS = 8;
/** Containers of one family, on a machine that has room for more than twice as many. */
const CONTAINERS_OF_FAMILY = 16;
/**
 * Times its size that the pool grows to at most. A family may have sixteen containers, whose guests it can end all at once:
 * the next family that needs a guest must find one.
 */
const SPARES_PER_SIZE = 8;
const SPARE_BYTES = 30 * 2 ** 20;
/** The part of the free memory that spares beyond the pool's size may take. */
const SPARE_MEMORY_SHARE = 1 / 16;
/** Guests that are ending may be as many as the guests that replace them. */
const ENDING = 2;
/** Guests of the self-test, which run before any other. */
const PROBES = 16;
/** The frames and the stderr of a guest, and one descriptor more while it starts. */
const GUEST_DESCRIPTORS = 3;
const OWN_DESCRIPTORS = 64;
/** The connections of all guests together: each may buffer some hundred thousand bytes in the service. */
const MAX_EGRESS_CONNECTIONS = 4_096;

/** Computes what a service with these settings takes of this machine. */
export function capacityOf(
  { maxContainers, tokenContainers, pool }: Pick<Config, "maxContainers" | "tokenContainers" | "pool">,
  { freeBytes, descriptors: limit }: Machine,
): Capacity {
  const containers = maxContainers ?? Math.max(LEAST_CONTAINERS, Math.floor(freeBytes / CONTAINER_BYTES));
  const grown = Math.min(pool * (SPARES_PER_SIZE - 1), Math.floor((freeBytes * SPARE_MEMORY_SHARE) / SPARE_BYTES));
  const spares = pool + grown;
  const descriptors = limit ?? Infinity;
  // What tasks connect to must leave descriptors for callers and for guests.
  const egressConnections = Math.min(MAX_EGRESS_CONNECTIONS, Math.floor(descriptors / 4));
  const others = OWN_DESCRIPTORS + (containers + spares) * GUEST_DESCRIPTORS + egressConnections;
  return {
    containers,
    containersOfFamily: tokenContainers ?? Math.min(CONTAINERS_OF_FAMILY, Math.ceil(containers / 2)),
    spares,
    guests: (containers + spares) * ENDING + PROBES,
    // A client needs no token to hold a connection, and a service without a free descriptor can start no guest.
    connections: Math.max(Math.floor(descriptors / 2), descriptors - others),
    egressConnections,
  };
}
