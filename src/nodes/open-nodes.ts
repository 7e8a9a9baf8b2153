import type { RedisLink } from "../redis/link.ts";
import { NodeCredentials } from "./credential.ts";
import { Nodes } from "./nodes.ts";
import { NodeRegistry } from "./registry.ts";
import type { SharedKeys } from "./signature.ts";

export interface OpenNodesOptions {
  readonly link: RedisLink;
  readonly keys: SharedKeys;
  /** The process of this node: the first part of the ids of its runs. */
  readonly process: string;
  /** Where the other nodes reach this one; null if they cannot. */
  readonly url: string | null;
  /** Receives one line when a node does not answer for the first time after it did. */
  readonly warn: (line: string) => void;
}

export interface OpenedNodes {
  readonly nodes: Nodes;
  /** Lets the other nodes ask this one. Call it when the service listens. */
  announce(): Promise<void>;
  /** Lets the other nodes ask this one no more. Call it when the service stops. */
  close(): Promise<void>;
}

/** Finds the other nodes on a Redis. @throws {Error} if Redis cannot be used. */
export async function openNodes({ link, keys, process, url, warn }: OpenNodesOptions): Promise<OpenedNodes> {
  const registry = await NodeRegistry.open({ link, keys, process, url });
  const credentials = new NodeCredentials(keys, process);
  const onSilent = (silent: string, { message }: Error): void => {
    warn(`the node at ${silent} does not answer, and answers to clients count it: ${message}`);
  };
  const nodes = new Nodes({ process, registry, credentials, onSilent });
  return { nodes, announce: () => registry.announce(), close: () => registry.close() };
}
