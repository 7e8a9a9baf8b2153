import type { Config } from "../config.ts";
import { describePlace } from "../config/redis-place.ts";
import type { Finding } from "../finding.ts";
import { RedisLimitStore } from "../limits/stores/redis.ts";
import { limitVector } from "../limits/windows.ts";
import { keepingOf } from "../redis/durability.ts";
import { redisFindings } from "../redis/redis-findings.ts";
import { openRedis } from "../stores.ts";

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
    return [{ layer: "Redis", state: "held", proof }, ...redisFindings(redis, hasPassword, keeping)];
  } catch (error) {
    const { message, cause } = error as Error;
    const proof = `${describePlace(redis)} cannot count: ${cause instanceof Error ? cause.message : message}`;
    const remedy = "use a writable Redis 7 or Valkey, and permit this user to run scripts";
    return [{ layer: "Redis", state: "open", proof, remedy }];
  } finally {
    link.close();
  }
}
