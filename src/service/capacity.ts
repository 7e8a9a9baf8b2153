import type { Config } from "../config.ts";

/** The share of the machine that one service uses: counts that no setting determines, or that a setting may leave open. */
export interface Capacity {
  /** The maximum number of live guests of containers. */
  readonly containers: number;
  /** The maximum number of live guests in the containers of one token family. */
  readonly containersOfFamily: number;
  /** The maximum number of spare guests, to which the pool grows when many containers are created. */
  readonly spares: number;
  /** The maximum number of guests that are started at once. */
  readonly starts: number;
  /** The maximum number of builds of packages at once. */
  readonly builds: number;
  /** The maximum number of codes at once from which the builder makes JavaScript. */
  readonly transforms: number;
  /** The maximum number of guests in the sandbox, including ending guests, those of builds and those of the self-test. */
  readonly guests: number;
  /** The maximum number of client connections. */
  readonly connections: number;
  /** The maximum number of connections of one client network. */
  readonly connectionsOfNetwork: number;
  /** The maximum number of connections of all guests and of `task_url`. */
  readonly egressConnections: number;
}

export interface Machine {
  readonly processors: number;
  readonly freeBytes: number;
  /** The maximum number of file descriptors of the service's process; `null` for no limit. */
  readonly descriptors: number | null;
}

/** The memory of an idle container. */
const CONTAINER_BYTES = 32 * 2 ** 20;
const LEAST_CONTAINERS = 8;
/** The containers of one family, on a machine with room for more than twice as many. */
const CONTAINERS_OF_FAMILY = 16;
/**
 * How many times its size the pool may grow to. A family may have sixteen containers and can end all their guests at once. The
 * next family that needs a guest must still find a spare.
 */
const SPARES_PER_SIZE = 8;
const SPARE_BYTES = 30 * 2 ** 20;
/** The share of free memory that spares beyond the pool's size may use. */
const SPARE_MEMORY_SHARE = 1 / 16;
/**
 * The memory of a build, which is two guests. Each of them may use twice as much, and very large packages do; most builds take less. So
 * the share of a small machine is one build and one transform.
 */
const BUILD_BYTES = 2 ** 30;
/** The share of free memory for builds and transforms. Containers have the rest. */
const BUILDS_MEMORY_SHARE = 1 / 4;
/** With one place, a family whose packages are slow to fetch would hold up all others for the longest time of a build. */
const MAX_BUILDS = 2;
const MAX_TRANSFORMS = 4;
/** The guests of a build: the builder and esbuild. */
const BUILD_GUESTS = 2;
/** The guests that make a code cache of packages. */
const CACHE_GUESTS = 1;
/** A start waits for a fifth of its time, so one more than there are processors keeps all of them busy. */
const FURTHER_STARTS = 1;
/** The factor for ending guests: as many guests may be ending as replace them. */
const ENDING = 2;
/** The number of guests of the self-test, which run before any other. */
const PROBES = 16;
/** The descriptors of a guest: its frames and its stderr, and one more while it starts. */
const GUEST_DESCRIPTORS = 3;
const OWN_DESCRIPTORS = 64;
/** The maximum number of connections of all guests. Each may buffer some hundred thousand bytes in the service. */
const MAX_EGRESS_CONNECTIONS = 4_096;

/**
 * The maximum number of client connections, however many descriptors there are. A client without a token can make each hold
 * 64 KiB that are not parsed, and heads of some hundred thousand bytes that wait for their turn.
 */
const MAX_CONNECTIONS = 16_384;
/** One client network has at most this part of the connections, so that it takes several networks to use all of them. */
const NETWORK_PARTS = 4;
/** A network always has this many connections: a browser opens 6, and many users may share one address. */
const LEAST_NETWORK_CONNECTIONS = 64;

/** Computes the share of this machine that a service with these settings uses. */
export function capacityOf(
  { maxContainers, tokenContainers, pool }: Pick<Config, "maxContainers" | "tokenContainers" | "pool">,
  { processors, freeBytes, descriptors: limit }: Machine,
): Capacity {
  const places = Math.floor((freeBytes * BUILDS_MEMORY_SHARE) / BUILD_BYTES);
  const builds = places > MAX_BUILDS ? MAX_BUILDS : 1;
  const transforms = Math.min(MAX_TRANSFORMS, Math.max(1, places - builds));
  const buildsBytes = Math.min(freeBytes * BUILDS_MEMORY_SHARE, (builds + transforms) * BUILD_BYTES);
  const rest = freeBytes - buildsBytes;
  const containers = maxContainers ?? Math.max(LEAST_CONTAINERS, Math.floor(rest / CONTAINER_BYTES));
  const grown = Math.min(pool * (SPARES_PER_SIZE - 1), Math.floor((freeBytes * SPARE_MEMORY_SHARE) / SPARE_BYTES));
  const spares = pool + grown;
  const descriptors = limit ?? Infinity;
  // Connections of tasks must leave descriptors for callers and guests.
  const egressConnections = Math.min(MAX_EGRESS_CONNECTIONS, Math.floor(descriptors / 4));
  const making = (builds + transforms) * BUILD_GUESTS + CACHE_GUESTS;
  const others = OWN_DESCRIPTORS + (containers + spares + making) * GUEST_DESCRIPTORS + egressConnections;
  // A client needs no token to hold a connection, and without a free descriptor the service can start no guest.
  const connections = Math.min(MAX_CONNECTIONS, Math.max(Math.floor(descriptors / 2), descriptors - others));
  return {
    containers,
    containersOfFamily: tokenContainers ?? Math.min(CONTAINERS_OF_FAMILY, Math.ceil(containers / 2)),
    spares,
    starts: processors + FURTHER_STARTS,
    builds,
    transforms,
    guests: (containers + spares + making) * ENDING + PROBES,
    connections,
    connectionsOfNetwork: Math.max(LEAST_NETWORK_CONNECTIONS, Math.floor(connections / NETWORK_PARTS)),
    egressConnections,
  };
}
