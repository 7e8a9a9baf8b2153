import { readFileSync } from "node:fs";

import { Cluster, Redis, type RedisOptions } from "ioredis";

import type { RedisPlace } from "../config/redis-place.ts";

const CONNECT_MS = 2_000;
const RECONNECT_MS = 500;

/**
 * The client as everything here needs it: nothing waits for a connection, and nothing is sent twice. A command whose
 * answer was lost may have been carried out, and a count that is made again is a run too many.
 *
 * @param authority a file of certificates that the server's is checked against, or null for the system's
 */
export function redisClient(place: RedisPlace, authority: string | null): Redis | Cluster {
  const tls = place.tls ? { tls: authority === null ? {} : { ca: readFileSync(authority) } } : {};
  const options = {
    ...tls,
    ...(place.username === null ? {} : { username: place.username }),
    ...(place.password === null ? {} : { password: place.password }),
    db: place.database,
    connectTimeout: CONNECT_MS,
    // Of what the client asks by itself when it connects; `RedisLink` sees to the rest.
    commandTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RECONNECT_MS,
    // A master that became a replica: another connection may lead to the new master. What it refused is not sent again.
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
      // Redirections are followed: what was redirected was not carried out. Everything else is the caller's to repeat.
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
