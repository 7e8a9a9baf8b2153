import { readFile } from "node:fs/promises";
import path from "node:path";

import type { Config } from "./config.ts";
import { describePlace } from "./config/redis-place.ts";
import type { LimitStore } from "./limits/limiter.ts";
import { EmbeddedStore } from "./limits/stores/embedded.ts";
import { LenientStore } from "./limits/stores/lenient.ts";
import { RedisStore } from "./limits/stores/redis.ts";
import type { PolicyStore } from "./policies/policy.ts";
import { EmbeddedPolicies } from "./policies/stores/embedded.ts";
import { RedisPolicies } from "./policies/stores/redis.ts";
import { durabilityWarnings } from "./redis/durability.ts";
import { Feed } from "./redis/feed.ts";
import { RedisLink } from "./redis/link.ts";
import type { TaskStore } from "./tasks/store.ts";
import { EmbeddedTasks } from "./tasks/stores/embedded.ts";
import { SharedTasks } from "./tasks/stores/shared.ts";
import type { Log } from "./telemetry/log.ts";
import type { TokenRegister } from "./tokens/register.ts";
import { SharedSecrets } from "./tokens/secrets/shared.ts";
import type { SecretStore } from "./tokens/secrets/store.ts";
import { Revocations, SharedRegistry } from "./tokens/shared-registry.ts";

type Settings = Pick<Config, "redis" | "redisPasswordFile" | "redisCa" | "realm" | "onStoreLoss" | "fsync">;

/**
 * Connects to the Redis of the settings. @returns null if the settings have none.
 *
 * @throws {Error} with the address of the Redis if it does not answer.
 */
export async function openRedis(config: Settings, log: Log | null): Promise<RedisLink | null> {
  const { redis, redisPasswordFile, realm, redisCa: authority } = config;
  if (redis === null) return null;
  const password = redisPasswordFile === null ? redis.password : (await readFile(redisPasswordFile, "utf8")).trim();
  const where = describePlace(redis);
  const onChange = (reason: Error | null): void => {
    if (reason) log?.pino.error({ err: reason }, `${where} does not answer; on-store-loss is ${config.onStoreLoss}`);
    else log?.pino.warn(`${where} answers again`);
  };
  const link = await RedisLink.open({ ...redis, password }, { realm, authority, onChange });
  for (const warning of log ? await durabilityWarnings(link) : []) log?.pino.warn(warning);
  return link;
}

/** The stores that nodes share in addition to the counts. */
export interface Shared {
  readonly registry: TokenRegister;
  readonly secrets: SecretStore;
  readonly policies: PolicyStore;
  readonly tasks: TaskStore;
  close(): void;
}

/** Opens the shared stores and reads their content. @throws {Error} if it cannot be read. */
export async function openShared(config: Pick<Config, "revocationLag">, link: RedisLink): Promise<Shared> {
  const revocations = new Revocations();
  const policies = new RedisPolicies();
  const feed = new Feed(link, [revocations, policies], config.revocationLag);
  policies.attach(feed);
  await feed.open();
  const registry = new SharedRegistry(link, feed, revocations);
  return {
    registry,
    secrets: new SharedSecrets(link),
    policies,
    tasks: new SharedTasks(link),
    close: () => feed.close(),
  };
}

/** Returns the shared store of policies, or opens the store of the folder. */
export function openPolicies(folder: string, shared: Shared | null): PolicyStore {
  return shared?.policies ?? EmbeddedPolicies.open(path.join(folder, "policies.sqlite"));
}

/** Returns the shared store of named tasks, or opens the store of the folder. */
export function openTaskStore(folder: string, shared: Shared | null): TaskStore {
  return shared?.tasks ?? EmbeddedTasks.open(path.join(folder, "tasks.sqlite"));
}

/** Opens the counts in the shared Redis, or in the folder. */
export async function openLimitStore(
  config: Settings,
  folder: string,
  link: RedisLink | null,
  log: Log,
): Promise<LimitStore> {
  if (link) {
    const store = new RedisStore(link);
    return config.onStoreLoss === "allow" ? new LenientStore(store) : store;
  }
  return EmbeddedStore.open(path.join(folder, "limits"), {
    fsync: config.fsync,
    onError: (error) => log.pino.error({ err: error }, "the counts cannot be written"),
  });
}
