import type { Config } from "../config.ts";
import type { RedisLink } from "../redis/redis-link.ts";
import { NodeCredentials } from "./node-credential.ts";
import { NodeRegistry } from "./node-registry.ts";
import { Nodes, type NodesOptions } from "./nodes.ts";
import type { SharedKeys } from "./signature.ts";

const MAX_REASON = 200;

/**
 * Finds the other nodes on a Redis.
 *
 * @param link null without Redis, and so without other nodes
 * @param process the process of this node: the first part of the ids of its runs
 * @param warn receives a line when a node does not answer, at most once a minute for each node
 * @throws {Error} if Redis cannot be used.
 */
export async function openNodes(
  config: Pick<Config, "nodeUrl" | "nodeName" | "nodesAsked"> & NodesOptions["bounds"],
  link: RedisLink | null,
  keys: SharedKeys,
  process: string,
  warn: (line: string) => void,
): Promise<Nodes | null> {
  if (!link) return null;
  const { nodeUrl: url, nodeName: name, nodesAsked: mostPeers } = config;
  const registry = await NodeRegistry.open({ link, keys, process, url, name, mostPeers });
  const onSilent = (silent: string, { message }: Error): void => {
    // The message may contain parts of an answer of any length.
    warn(`the node at ${silent} does not answer, and answers to clients count it: ${message.slice(0, MAX_REASON)}`);
  };
  return new Nodes({
    process,
    url,
    registry,
    credentials: new NodeCredentials(keys, process),
    onSilent,
    bounds: config,
  });
}
