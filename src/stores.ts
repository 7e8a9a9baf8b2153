import path from "node:path";

import type { Config } from "./config.ts";
import { readNamedFile } from "./config/read-file.ts";
import { describePlace } from "./config/redis-place.ts";
import type { LimitStore } from "./limits/store.ts";
import { EmbeddedLimitStore } from "./limits/stores/embedded.ts";
import { FailOpenLimitStore } from "./limits/stores/fail-open.ts";
import { RedisLimitStore } from "./limits/stores/redis.ts";
import type { PermitStore } from "./packages/permit-store.ts";
import { RedisPermits } from "./packages/redis-permits.ts";
import { Restarts } from "./policies/restarts.ts";
import type { PolicyStore } from "./policies/store.ts";
import { RedisPolicyStore } from "./policies/stores/redis.ts";
import { SqlitePolicyStore } from "./policies/stores/sqlite.ts";
import { durabilityWarnings } from "./redis/durability.ts";
import { Feed } from "./redis/feed.ts";
import { RedisLink } from "./redis/redis-link.ts";
import type { TaskStore } from "./tasks/store.ts";
import { RedisTaskStore } from "./tasks/stores/redis.ts";
import { SqliteTaskStore } from "./tasks/stores/sqlite.ts";
import type { Log } from "./telemetry/log.ts";
import type { SecretStore } from "./tokens/secrets/store.ts";
import { RedisSecretStore } from "./tokens/secrets/stores/redis.ts";
import type { TokenStore } from "./tokens/store.ts";
import { RedisTokenStore } from "./tokens/stores/redis.ts";
import { Revocations } from "./tokens/stores/revocations.ts";

type Settings = Pick<
  Config,
  "redis" | "redisPasswordFile" | "redisCa" | "realm" | "onStoreLoss" | "revocationLag" | "fsync"
>;

/**
 * Connects to the Redis of the settings. @returns null if the settings have none.
 *
 * @throws {Error} with the address of the Redis if it does not answer.
 */
export async function openRedis(config: Settings, log: Log | null): Promise<RedisLink | null> {
  const { redis, redisPasswordFile, realm, redisCa: authority } = config;
  if (redis === null) return null;
  const password =
    redisPasswordFile === null
      ? redis.password
      : readNamedFile("--redis-password-file", redisPasswordFile).toString().trim();
  const where = describePlace(redis);
  const onChange = (reason: Error | null): void => {
    if (reason) log?.pino.error({ err: reason }, `${where} does not answer; ${lossText(config)}`);
    else log?.pino.warn(`${where} answers again`);
  };
  const link = await RedisLink.open({ ...redis, password }, { realm, authority, onChange });
  for (const warning of log ? await durabilityWarnings(link) : []) log?.pino.warn(warning);
  return link;
}

/** What the loss of Redis means for runs. */
function lossText({ onStoreLoss, revocationLag }: Settings): string {
  if (onStoreLoss === "deny") return "on-store-loss is deny";
  const seconds = revocationLag / 1_000;
  return `on-store-loss is allow, so runs are accepted without counting for ${seconds} s, which is the revocation-lag`;
}

/** The stores that nodes share in addition to the counts. */
export interface Shared {
  readonly registry: TokenStore;
  readonly secrets: SecretStore;
  readonly policies: PolicyStore;
  readonly permits: PermitStore;
  readonly restarts: Restarts;
  readonly tasks: TaskStore;
  /** Whether the node's copy of shared data is young enough for the node to accept tokens. */
  isFresh(): boolean;
  close(): void;
}

/** Opens the shared stores and reads their content. @throws {Error} if it cannot be read. */
export async function openShared(config: Pick<Config, "revocationLag">, link: RedisLink): Promise<Shared> {
  const revocations = new Revocations();
  const policies = new RedisPolicyStore();
  const permits = new RedisPermits();
  const restarts = new Restarts();
  // A suspension and its end may arrive together. Then the runs in flight are ended before new runs begin.
  const feed = new Feed(link, [revocations, restarts, policies, permits], config.revocationLag);
  revocations.attach(feed);
  policies.attach(feed);
  permits.attach(feed);
  restarts.attach(feed);
  await feed.open();
  const registry = new RedisTokenStore(link, feed, revocations);
  return {
    registry,
    secrets: new RedisSecretStore(link),
    policies,
    permits,
    restarts,
    tasks: new RedisTaskStore(link),
    isFresh: () => feed.isFresh,
    close: () => feed.close(),
  };
}

/** Returns the shared store of policies, or opens the store of the folder. */
export function openPolicies(folder: string, shared: Shared | null): PolicyStore {
  return shared?.policies ?? SqlitePolicyStore.open(path.join(folder, "policies.sqlite"));
}

/** Returns the shared store of named tasks, or opens the store of the folder. */
export function openTaskStore(folder: string, shared: Shared | null): TaskStore {
  return shared?.tasks ?? SqliteTaskStore.open(path.join(folder, "tasks.sqlite"));
}

/** Opens the counts in the shared Redis, or in the folder. */
export async function openLimitStore(
  config: Settings,
  folder: string,
  link: RedisLink | null,
  log: Log,
): Promise<LimitStore> {
  if (link) {
    const store = new RedisLimitStore(link);
    return config.onStoreLoss === "allow" ? new FailOpenLimitStore(store, link) : store;
  }
  return EmbeddedLimitStore.open(path.join(folder, "limits"), {
    fsync: config.fsync,
    onError: (error) => log.pino.error({ err: error }, "the counts cannot be written"),
  });
}
