import { Cluster, Redis, type RedisOptions, ReplyError } from "ioredis";

import { readNamedFile } from "../config/read-file.ts";
import type { RedisPlace } from "../config/redis-place.ts";

const CONNECT_MS = 2_000;
const RECONNECT_MS = 500;

/**
 * Creates a client that never queues commands for a connection, and never sends a command twice. Redis may have
 * executed a command whose answer was lost, and would count the run twice.
 *
 * @param authority a file of certificates that verify the server's certificate, or null for the system's certificates.
 */
export function redisClient(place: RedisPlace, authority: string | null): Redis | Cluster {
  const tls = place.tls ? { tls: authority === null ? {} : { ca: readNamedFile("--redis-ca", authority) } } : {};
  const options = {
    ...tls,
    ...(place.username === null ? {} : { username: place.username }),
    ...(place.password === null ? {} : { password: place.password }),
    db: place.database,
    connectTimeout: CONNECT_MS,
    // The time limit of the commands that the client itself sends when it connects. `RedisLink` limits all other
    // commands.
    commandTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RECONNECT_MS,
    // If a master became a replica, a new connection may reach the new master. The refused command is not sent again.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
    disableClientInfo: true,
    lazyConnect: true,
  } satisfies RedisOptions;
  const [first] = place.hosts;
  if (place.kind === "server") return new Redis({ ...options, ...first });
  if (place.kind === "cluster") {
    const { lazyConnect, enableOfflineQueue, retryStrategy, ...redisOptions } = options;
    return new Cluster([...place.hosts], {
      lazyConnect,
      enableOfflineQueue,
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: CONNECT_MS,
      // Only redirected commands are sent again, because the node did not execute them. The caller repeats others.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 0,
      redisOptions,
    });
  }
  return new Redis({
    ...options,
    sentinels: [...place.hosts],
    name: place.master,
    sentinelRetryStrategy: () => RECONNECT_MS,
    sentinelCommandTimeout: CONNECT_MS,
    ...(place.tls ? { enableTLSForSentinelMode: true, sentinelTLS: tls.tls! } : {}),
  });
}

/** Whether Redis answered with an error. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof ReplyError;
}
