import { isIP } from "node:net";

import type { Config } from "../config.ts";
import { describePlace, type RedisPlace } from "../config/redis-place.ts";
import { RedisLimitStore } from "../limits/stores/redis.ts";
import { limitVector } from "../limits/windows.ts";
import { evictionWarning, type Keeping, keepingOf, persistenceWarning } from "../redis/durability.ts";
import { openRedis } from "../stores.ts";
import type { Finding } from "./finding.ts";

/** A limit that is only read and never charged, so that it creates no state. */
const UNUSED_LIMIT = { key: "doctor", class: "container", limits: limitVector({ second: 1 }) } as const;

/** Examines the configured Redis, if any: connects, reads a count, and checks its security and its persistence. */
export async function examineRedis(config: Config): Promise<Finding[]> {
  const { redis } = config;
  if (redis === null) return [];
  let link;
  try {
    link = (await openRedis(config, null))!;
  } catch (error) {
    const remedy = "start it, or correct --redis, --redis-password-file or --redis-ca";
    return [{ layer: "Redis", state: "open", proof: (error as Error).message, remedy }];
  }
  try {
    const sentMs = performance.now();
    await new RedisLimitStore(link).read([UNUSED_LIMIT]);
    const tookMs = performance.now() - sentMs;
    const keeping = await keepingOf(link);
    const version = keeping.version === null ? "" : ` ${keeping.version},`;
    const proof = `${describePlace(redis)}:${version} it answered in ${tookMs.toFixed(1)} ms`;
    const hasPassword = redis.password !== null || config.redisPasswordFile !== null;
    return [
      { layer: "Redis", state: "held", proof },
      connection(redis, hasPassword),
      persistence(keeping),
      memory(keeping),
    ];
  } catch (error) {
    const { message, cause } = error as Error;
    const proof = `${describePlace(redis)} cannot count: ${cause instanceof Error ? cause.message : message}`;
    const remedy = "use a writable Redis 7 or Valkey, and permit this user to run scripts";
    return [{ layer: "Redis", state: "open", proof, remedy }];
  } finally {
    link.close();
  }
}

/** Checks whether an attacker on the network could read or change the shared data, or connect like a node. */
function connection({ hosts, tls }: RedisPlace, hasPassword: boolean): Finding {
  const layer = "Redis connection";
  const proof = `${tls ? "TLS" : "no TLS"}, ${hasPassword ? "with a password" : "no password"}`;
  if (hosts.every(({ host }) => isLoopback(host))) {
    return { layer, state: "held", proof: `${proof}; it does not leave this machine` };
  }
  const remedies = [
    ...(tls ? [] : ["use rediss://, or a network that has only nodes"]),
    ...(hasPassword ? [] : ["set a password: a program that can connect can undo counted runs"]),
  ];
  if (remedies.length === 0) return { layer, state: "held", proof };
  return { layer, state: "weak", proof, remedy: remedies.join("; ") };
}

function persistence(keeping: Keeping): Finding {
  const layer = "Redis persistence";
  const { appendOnly, fsync } = keeping;
  const warning = persistenceWarning(keeping);
  const remedy = "appendonly yes, appendfsync always";
  if (warning !== null) return { layer, state: "weak", proof: warning, remedy };
  if (appendOnly === null)
    return { layer, state: "weak", proof: UNREPORTED, remedy: `make sure that it has ${remedy}` };
  return { layer, state: "held", proof: `appendonly yes${fsync === null ? "" : `, appendfsync ${fsync}`}` };
}

function memory(keeping: Keeping): Finding {
  const layer = "Redis memory";
  const warning = evictionWarning(keeping);
  const remedy = "maxmemory-policy noeviction";
  if (warning !== null) return { layer, state: "weak", proof: warning, remedy };
  if (keeping.eviction === null)
    return { layer, state: "weak", proof: UNREPORTED, remedy: `make sure that it has ${remedy}` };
  return { layer, state: "held", proof: remedy };
}

const UNREPORTED = "this Redis does not report it";

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
