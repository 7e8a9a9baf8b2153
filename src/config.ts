import { redisPlace, type RedisPlace } from "./config/redis-place.ts";
import { many, one, type Setting } from "./config/setting.ts";
import {
  boolean,
  choice,
  cidrs,
  decimal,
  duration,
  file,
  type HostPort,
  hostPorts,
  integer,
  limits,
  ports,
  realm,
  size,
  text,
  type WindowLimits,
} from "./config/values.ts";

/** Everything that an operator can set. Times are in milliseconds, sizes in bytes. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly keys: string | null;
  readonly secretsKey: string | null;
  readonly user: string | null;
  readonly isolation: "auto" | "namespaces" | "confined" | "none";
  readonly egress: "none" | "public";
  readonly egressAllow: readonly HostPort[];
  readonly egressPorts: readonly number[];
  readonly egressConnections: number;
  readonly egressBytes: number;
  readonly egressTime: number;
  readonly wallLimit: number;
  readonly blockLimit: number;
  readonly streamLimit: number;
  readonly idleLimit: number;
  readonly cpuLimit: number;
  readonly memoryLimit: number;
  readonly threadLimit: number;
  readonly tmpLimit: number;
  readonly descriptorLimit: number;
  readonly logLimit: number;
  readonly logRate: number;
  readonly codeLimit: number;
  readonly containerTasks: number;
  readonly taskUrlLimit: number;
  readonly taskUrlCache: number;
  readonly taskUrlCacheEntries: number;
  readonly taskUrlCacheTime: number;
  readonly jsonDepthLimit: number;
  readonly resultLimit: number;
  readonly concurrency: number;
  readonly maxContainers: number | null;
  readonly containerParties: number;
  readonly memoryReserve: number;
  readonly tokenContainers: number | null;
  readonly tokenConcurrency: number;
  readonly tokenNewContainers: number;
  readonly familyTokens: number;
  readonly familyIssues: number;
  readonly familySecrets: number;
  readonly familyTasks: number;
  readonly familyTaskBytes: number;
  readonly pool: number;
  readonly poolWindow: number;
  readonly containerLimit: WindowLimits;
  readonly tokenLimit: WindowLimits;
  readonly authLimit: WindowLimits;
  readonly redis: RedisPlace | null;
  readonly redisPasswordFile: string | null;
  readonly redisCa: string | null;
  readonly realm: string;
  readonly onStoreLoss: "deny" | "allow";
  readonly revocationLag: number;
  readonly killRevoked: boolean;
  readonly queryKey: boolean;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustProxy: readonly string[];
  readonly insecureHttp: boolean;
  readonly fsync: boolean;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** The one table of settings, defaults and limits. Flag, variable and key in the file are made from the names in it. */
export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  host: one("--host <address>", "127.0.0.1", "address to listen on", text),
  port: one("--port <number>", 7070, "port to listen on; 0 takes any free one", integer(0, 65_535)),
  data: one("--data <folder>", "./data", "where keys, tokens, policies and counts are kept", text),
  keys: one<string | null>("--keys <file>", null, "signing keys; without it those of the data folder", file),
  secretsKey: one<string | null>(
    "--secrets-key <file>",
    null,
    "what secrets are encrypted with, the same for all nodes of a Redis; without it that of the data folder",
    file,
  ),
  user: one<string | null>(
    "--user <name>",
    null,
    "who the service becomes when it is started as root; without it the owner of the data folder",
    text,
  ),
  isolation: one(
    "--isolation <rung>",
    "auto",
    "the wall around tasks: auto is the strongest that holds here, namespaces and confined are that or nothing, none is " +
      "for development",
    choice("auto", "namespaces", "confined", "none"),
  ),
  egress: one(
    "--egress <policy>",
    "public",
    "what tasks and task_url may connect to: public places, or none but those allowed",
    choice("none", "public"),
  ),
  egressAllow: many("--egress-allow <host:port>", [], "a place that may be reached although it is private", hostPorts),
  egressPorts: many<readonly number[]>(
    "--egress-ports <ports>",
    [80, 443, 8_080, 8_443],
    "ports of public places; stops tasks that send mail or reach for databases; default 80,443,8080,8443",
    ports,
  ),
  egressConnections: one(
    "--egress-connections <number>",
    64,
    "connections open at once, of a run; stops a task that floods a place or takes all descriptors",
    integer(1, 256),
  ),
  egressBytes: one(
    "--egress-bytes <size>",
    256 * 2 ** 20,
    "sent and received, of a run; stops a task that uses up the line",
    size(1),
  ),
  egressTime: one(
    "--egress-time <duration>",
    300_000,
    "of a connection; stops one that is held open for ever",
    duration(100),
  ),

  wallLimit: one("--wall-limit <duration>", 30_000, "stops a run that never ends", duration(10)),
  blockLimit: one(
    "--block-limit <duration>",
    2_000,
    "stops a run that blocks the event loop of its container",
    duration(100),
  ),
  streamLimit: one("--stream-limit <duration>", 300_000, "stops a result that streams for ever", duration(10)),
  idleLimit: one(
    "--idle-limit <duration>",
    60_000,
    "stops containers that were used once and hold memory",
    duration(100),
  ),
  cpuLimit: one("--cpu-limit <cores>", 1, "stops a container that takes all processors", decimal(0.05, 1_024)),
  memoryLimit: one(
    "--memory-limit <size>",
    256 * 2 ** 20,
    "stops a container that takes all memory",
    size(64 * 2 ** 20),
  ),
  threadLimit: one("--thread-limit <number>", 64, "stops a container that takes all threads", integer(16, 4_096)),
  tmpLimit: one("--tmp-limit <size>", 64 * 2 ** 20, "stops a container that fills its temporary disk", size(2 ** 20)),
  descriptorLimit: one(
    "--descriptor-limit <number>",
    128,
    "stops a container that takes all descriptors of the host",
    integer(64, 65_536),
  ),
  logLimit: one("--log-limit <size>", 256 * 2 ** 10, "of a run; stops one that fills the log", size(1_024)),
  logRate: one(
    "--log-rate <lines>",
    1_000,
    "a second, of a run; stops one that floods those who read the log",
    integer(1, 1_000_000),
  ),
  codeLimit: one("--code-limit <size>", 2 ** 20, "stops bodies that exhaust the service's memory", size(1)),
  containerTasks: one(
    "--container-tasks <number>",
    1_000,
    "named tasks of a container: stops a token that fills the disk with them",
    integer(1, 1_000_000),
  ),
  taskUrlLimit: one("--task-url-limit <characters>", 2_048, "stops a task_url of any length", integer(16, 16_000)),
  taskUrlCache: one(
    "--task-url-cache <size>",
    32 * 2 ** 20,
    "what task_url gave and may be kept; 0B keeps nothing; stops those who fetch much from exhausting memory",
    size(0),
  ),
  taskUrlCacheEntries: one(
    "--task-url-cache-entries <number>",
    1_024,
    "how many answers of task_url are kept; stops those who fetch many small ones",
    integer(0, 1_000_000),
  ),
  taskUrlCacheTime: one(
    "--task-url-cache-time <duration>",
    60_000,
    "how long an answer of task_url is used without asking anew, where its Cache-Control says as long or longer; stops " +
      "code that was mended or taken back from running on",
    duration(0),
  ),
  jsonDepthLimit: one("--json-depth-limit <levels>", 64, "stops JSON that exhausts the stack", integer(1, 1_000)),
  resultLimit: one("--result-limit <size>", 6 * 2 ** 20, "stops results that exhaust the service's memory", size(1)),
  concurrency: one("--concurrency <number>", 64, "stops a container that holds all places", integer(1, 10_000)),
  maxContainers: one<number | null>(
    "--max-containers <number>",
    null,
    "alive at once, by default what free memory holds at 32MiB each: stops containers that take all memory",
    integer(1, 100_000),
  ),
  containerParties: one(
    "--container-parties <number>",
    32,
    "stops a container that many tokens with code of their own share from taking all guests",
    integer(1, 100_000),
  ),
  memoryReserve: one(
    "--memory-reserve <size>",
    128 * 2 ** 20,
    "of the machine; below it idle containers go and none come: stops many small ones that together take all memory",
    size(0),
  ),
  tokenContainers: one<number | null>(
    "--token-containers <number>",
    null,
    "alive for one token, those below it and administrators too, by default 16 and at most half of --max-containers: " +
      "stops one that keeps a thousand names alive",
    integer(1, 100_000),
  ),
  tokenConcurrency: one(
    "--token-concurrency <number>",
    128,
    "runs in flight of one token, those below it and administrators too: stops one that holds the places of many",
    integer(1, 1_000_000),
  ),
  tokenNewContainers: one(
    "--token-new-containers <number>",
    60,
    "coming alive a minute for one token, those below it and administrators too, names in which it has fresh guests among " +
      "them: stops one that walks through names",
    integer(1, 1_000_000),
  ),
  familyTokens: one(
    "--family-tokens <number>",
    1_000,
    "unexpired tokens below a token that an administrator issued, revoked ones too: stops a token that fills the disk " +
      "with the records of others",
    integer(1, 100_000),
  ),
  familyIssues: one(
    "--family-issues <number>",
    60,
    "tokens issued, tasks changed and secrets replaced a minute below a token that an administrator issued: stops a " +
      "token that keeps the service at signing and writing",
    integer(1, 1_000_000),
  ),
  familySecrets: one(
    "--family-secrets <size>",
    2 ** 20,
    "secrets, as they are kept, of a token that an administrator issued and all below it: stops a token that fills the " +
      "disk with them",
    size(1_024),
  ),
  familyTasks: one(
    "--family-tasks <number>",
    1_000,
    "named tasks in all containers of a token that an administrator issued and all below it: stops a token for acme-* " +
      "that fills one container after another",
    integer(1, 100_000),
  ),
  familyTaskBytes: one(
    "--family-task-bytes <size>",
    64 * 2 ** 20,
    "those named tasks with the versions that are kept of them: stops a token that fills the disk with code",
    size(1_024),
  ),
  pool: one(
    "--pool <number>",
    4,
    "blank guests kept warm for containers that come; up to eight times as many while many come and memory is free",
    integer(0, 1_000),
  ),
  poolWindow: one(
    "--pool-window <duration>",
    30_000,
    "for so long the pool stays as large as the number of new containers in that time",
    duration(1_000),
  ),

  containerLimit: many("--container-limit <window=runs>", {}, "limit of every container", limits),
  tokenLimit: many("--token-limit <window=runs>", {}, "limit of every token", limits),
  authLimit: many(
    "--auth-limit <window=tokens>",
    { minute: 300 },
    "checks of tokens that were not seen lately, of a client's address (IPv6: its /64), default minute=300: stops one " +
      "who guesses tokens, or keeps the service at checking them",
    limits,
  ),
  redis: one<RedisPlace | null>(
    "--redis <url>",
    null,
    "a Redis 7 or Valkey that counts for several nodes, such as rediss://host:6379/0; also redis-sentinel://host,host/master " +
      "and redis-cluster://host,host; a password in it belongs in the variable",
    redisPlace,
  ),
  redisPasswordFile: one<string | null>("--redis-password-file <file>", null, "the password of --redis", file),
  redisCa: one<string | null>(
    "--redis-ca <file>",
    null,
    "certificates, PEM, that the one of --redis is checked against; without it the system's",
    file,
  ),
  realm: one("--realm <name>", "caisson", "tells apart the services that share a Redis", realm),
  onStoreLoss: one(
    "--on-store-loss <answer>",
    "deny",
    "while --redis cannot be reached: deny refuses runs, allow takes them without counting them",
    choice("deny", "allow"),
  ),
  revocationLag: one(
    "--revocation-lag <duration>",
    2_000,
    "how old what a node knows of the tokens and policies that others change may be; past it, it refuses all: stops " +
      "revoked tokens on a node that is cut off",
    duration(1_000),
  ),
  killRevoked: one(
    "--kill-revoked",
    false,
    "end the runs in flight of tokens that are revoked: stops a stolen token also where its runs last",
    boolean,
  ),
  queryKey: one("--no-query-key", true, "take tokens from the Authorization header only", boolean),
  tlsCert: one<string | null>("--tls-cert <file>", null, "certificate chain, PEM", file),
  tlsKey: one<string | null>("--tls-key <file>", null, "private key of the certificate, PEM", file),
  trustProxy: many<readonly string[]>(
    "--trust-proxy <cidr>",
    [],
    "proxies in front of the service, which may terminate TLS: what they forward in Forwarded and X-Forwarded-For is believed",
    cidrs,
  ),
  insecureHttp: one("--insecure-http", false, "listen beyond loopback without TLS", boolean),
  fsync: one("--fsync", false, "keep counts through a loss of power", boolean),
  logLevel: one(
    "--log-level <level>",
    "info",
    "how much is logged: debug, info, warn, error or silent",
    choice("debug", "info", "warn", "error", "silent"),
  ),
};
