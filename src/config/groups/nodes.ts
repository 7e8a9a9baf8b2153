import { redisPlace, type RedisPlace } from "../redis-place.ts";
import { one, type Settings } from "../setting.ts";
import { choice, duration, file, integer, nodeName, origin, realm, size } from "../values.ts";

export interface NodeConfig {
  readonly redis: RedisPlace | null;
  readonly redisPasswordFile: string | null;
  readonly redisCa: string | null;
  readonly realm: string;
  readonly onStoreLoss: "deny" | "allow";
  readonly revocationLag: number;
  readonly nodeUrl: string | null;
  readonly nodeName: string | null;
  readonly nodesAsked: number;
  readonly nodeAnswers: number;
}

export const NODES: Settings<NodeConfig> = {
  redis: one<RedisPlace | null>(
    "--redis <url>",
    null,
    "Redis 7 or Valkey that counts for several nodes, such as rediss://host:6379/0; also redis-sentinel://host,host/master " +
      "and redis-cluster://host,host; give a URL with a password in the variable",
    redisPlace,
  ),
  redisPasswordFile: one<string | null>("--redis-password-file <file>", null, "the password of --redis", file),
  redisCa: one<string | null>(
    "--redis-ca <file>",
    null,
    "certificates, PEM, that must have signed the certificate of --redis; by default the certificates of the system",
    file,
  ),
  realm: one("--realm <name>", "caisson", "name that separates the services of one Redis", realm),
  onStoreLoss: one(
    "--on-store-loss <answer>",
    "deny",
    "while --redis cannot be reached: deny refuses runs, allow runs them without counting, for as long as --revocation-lag permits",
    choice("deny", "allow"),
  ),
  revocationLag: one(
    "--revocation-lag <duration>",
    2_000,
    "longest delay of changes of tokens and policies from other nodes; after it, the node refuses all requests; stops " +
      "revoked tokens on a node that is cut off",
    duration(1_000),
  ),
  nodeUrl: one<string | null>(
    "--node-url <url>",
    null,
    "http or https URL at which the other nodes on --redis reach this node, and not the proxy in front of them, such as " +
      "http://10.0.0.7:7070; reads of records then cover all nodes",
    origin,
  ),
  nodeName: one<string | null>(
    "--node-name <name>",
    null,
    "name of the node in records of runs, such as a1; by default the part of run ids that names the process",
    nodeName,
  ),
  nodesAsked: one(
    "--nodes-asked <number>",
    16,
    "other nodes that a read asks; further nodes count as nodes that did not answer; stops a client from causing work on " +
      "any number of nodes",
    integer(1, 256),
  ),
  nodeAnswers: one(
    "--node-answers <size>",
    64 * 2 ** 20,
    "memory for answers of other nodes while they arrive; one token family uses at most three eighths; stops reads that " +
      "fill the memory",
    size(2 ** 20),
  ),
};
