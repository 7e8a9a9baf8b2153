import { setTimeout as pause } from "node:timers/promises";

import { z } from "zod";

import { type RedisLink, redisScript } from "../redis/redis-link.ts";
import { type SharedKeys, signAsNode, verifyFromNode } from "./signature.ts";

/** A node on the same Redis. */
export interface Peer {
  /** The process of the node: the first part of the ids of its runs. */
  readonly process: string;
  /** The name in its settings; missing if it has none. */
  readonly name?: string;
  /** The URL at which other nodes reach it; null if it announces no URL, or its announcement is not of a node with the keys of this one. */
  readonly url: string | null;
  /** Whether it has announced itself lately. A node that is not alive may still have records on its disk. */
  readonly isAlive: boolean;
}

/** A node that can be asked. */
export type ReachablePeer = Peer & { readonly url: string };

export function isReachable(peer: Peer): peer is ReachablePeer {
  return peer.isAlive && peer.url !== null;
}

export interface RegistryOptions {
  readonly link: Pick<RedisLink, "key" | "run">;
  readonly keys: SharedKeys;
  readonly process: string;
  readonly url: string | null;
  /** The name of this node in records; default: its process. */
  readonly name?: string | null;
  /** The most nodes that are asked. More would make each read expensive; further ones count as nodes that did not answer. */
  readonly mostPeers: number;
  /** The milliseconds between two announcements. */
  readonly renewMs?: number;
}

const RENEW_MS = 2_000;
/** How long a start waits for a Redis that does not answer, and how often it tries again. */
const OPEN_MS = 5_000;
const RETRY_MS = 500;
/** How many announcements a node may miss before it is not asked any more. */
const MISSED = 4;
/** How long a node that is gone counts as a node that did not answer: a machine may need minutes to start again. */
const REMEMBERED_MS = 600_000;
/** How long a node counts that has stopped by itself: longer than a restart takes, because then its records are back. */
const LEFT_MS = 60_000;
const MAX_TEXT_BYTES = 2_048;
const TYPE = "caisson-node+jwt";
const PROCESS = /^[0-9a-f]{12}$/;

/**
 * The nodes that announce themselves in Redis. Announcements are signed, so a program that can write to Redis cannot direct reads
 * to another URL.
 */
export class NodeRegistry {
  readonly #with: RegistryOptions;
  readonly #renewMs: number;
  /** The last announcement of each node, with its verified URL and its local time. */
  readonly #known = new Map<string, { readonly text: string; readonly claims: Claims; readonly announcedMs: number }>();
  #peers: readonly Peer[] = [];
  #further = 0;
  #own: { readonly kid: string; readonly text: string } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #isAnnounced = false;
  #isClosed = false;

  /** Reads the other nodes. @throws {Error} if Redis cannot be used. */
  static async open(options: RegistryOptions): Promise<NodeRegistry> {
    const registry = new NodeRegistry(options);
    const giveUpMs = performance.now() + OPEN_MS;
    for (;;) {
      try {
        await registry.#renew();
        return registry;
      } catch (error) {
        if (performance.now() > giveUpMs) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  private constructor(options: RegistryOptions) {
    this.#with = options;
    this.#renewMs = options.renewMs ?? RENEW_MS;
  }

  /** The other nodes, and those that were announced in the last ten minutes. */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /** The number of nodes beyond those of `peers`. */
  get further(): number {
    return this.#further;
  }

  /** Announces this node from now on, also if Redis cannot be used at first. */
  async announce(): Promise<void> {
    this.#isAnnounced = true;
    await this.#renew().catch(() => {});
    this.#schedule();
  }

  /**
   * Ends the announcements. The other nodes do not ask this node any more, but count it for a minute as a node that did not
   * answer: its records are still on its disk, and it is probably started again. They stop to count it when a node with its URL
   * starts.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    const { link, process } = this.#with;
    await link.run(LEAVE, this.#keys(), [process, REMEMBERED_MS - LEFT_MS]).catch(() => {});
  }

  get #aliveMs(): number {
    return this.#renewMs * MISSED;
  }

  #keys(): [seen: string, texts: string] {
    const { link } = this.#with;
    return [link.key("nodes:seen"), link.key("nodes:texts")];
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      // Without an answer the nodes known so far stay. The link reports the failure.
      this.#renewing = this.#renew()
        .catch(() => {})
        .finally(() => this.#schedule());
    }, this.#renewMs).unref();
  }

  async #renew(): Promise<void> {
    const { link, process, url: own, mostPeers } = this.#with;
    const bounds = [REMEMBERED_MS, mostPeers + 1, MAX_TEXT_BYTES];
    const answer = await link.run(ANNOUNCE, this.#keys(), [
      process,
      this.#isAnnounced ? await this.#text() : "",
      ...bounds,
    ]);
    const { total, nodes } = answerSchema.parse(answer);
    const nowMs = performance.now();
    for (const [name, ageMs, text] of nodes) {
      if (name === process || !PROCESS.test(name)) continue;
      const known = this.#known.get(name);
      const claims = known?.text === text ? known.claims : await this.#claimsOf(name, text);
      this.#known.set(name, { text, claims, announcedMs: nowMs - ageMs });
    }
    // A Redis that has lost its data must not hide the nodes that have not announced themselves again.
    const found = [...this.#known]
      .map(([name, { claims, announcedMs }]) => ({ ...claims, process: name, ageMs: nowMs - announcedMs }))
      .toSorted((a, b) => a.ageMs - b.ageMs)
      .filter(({ ageMs }, at) => ageMs < REMEMBERED_MS && at < mostPeers);
    const kept = new Set(found.map((peer) => peer.process));
    for (const name of this.#known.keys()) if (!kept.has(name)) this.#known.delete(name);
    this.#peers = found
      .filter((peer) => !isReplaced(peer, [{ url: own, ageMs: 0 }, ...found], this.#renewMs))
      .map(({ process: id, name, url, ageMs }) => ({
        ...{ process: id, url, isAlive: ageMs < this.#aliveMs },
        ...(name !== null && { name }),
      }));
    this.#further = total - nodes.length;
  }

  /** Signs the announcement, again only after a change of keys: equal texts need no check. */
  async #text(): Promise<string> {
    const { keys, process, url, name = null } = this.#with;
    const { kid } = keys.signing;
    if (this.#own?.kid !== kid) this.#own = { kid, text: await signAsNode(keys, TYPE, { process, url, name }) };
    return this.#own.text;
  }

  async #claimsOf(process: string, text: string): Promise<Claims> {
    try {
      const claims = claimsSchema.parse(await verifyFromNode(this.#with.keys, TYPE, text));
      return claims.process === process ? { name: claims.name, url: claims.url } : NONE;
    } catch {
      return NONE;
    }
  }
}

/** Whether another process now serves at the URL of a node: the node has been started again, and has its records. */
function isReplaced(node: Announced, all: readonly Announced[], renewMs: number): boolean {
  // Two nodes that were given one URL by mistake both renew, and both count.
  if (node.url === null || node.ageMs < renewMs * 2) return false;
  return all.some(({ url, ageMs }) => url === node.url && ageMs < node.ageMs);
}

interface Announced {
  readonly url: string | null;
  readonly ageMs: number;
}

/** What a node announces of itself. */
interface Claims {
  readonly name: string | null;
  readonly url: string | null;
}

const NONE: Claims = { name: null, url: null };
const claimsSchema = z.object({
  process: z.string(),
  // A node of an earlier version announces no name.
  name: z.string().max(64).nullable().default(null),
  url: z.url({ protocol: /^https?$/ }).nullable(),
});
const node = z.tuple([z.string(), z.number(), z.string()]);
const answerSchema = z.tuple([z.number(), z.array(node)]).transform(([total, nodes]) => ({ total, nodes }));

/** Announces a node if it has a text, forgets nodes of long ago, and returns the nodes that were announced last. Times are of Redis. */
const ANNOUNCE = redisScript(`
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, old in ipairs(redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", "(" .. string.format("%.0f", now - ARGV[3]), "LIMIT", 0, 100)) do
  redis.call("ZREM", KEYS[1], old)
  redis.call("HDEL", KEYS[2], old)
end
if ARGV[2] ~= "" then
  redis.call("ZADD", KEYS[1], string.format("%.0f", now), ARGV[1])
  redis.call("HSET", KEYS[2], ARGV[1], ARGV[2])
end
local nodes = {}
local found = redis.call("ZREVRANGE", KEYS[1], 0, ARGV[4] - 1, "WITHSCORES")
for at = 1, #found, 2 do
  local text = ""
  if redis.call("HSTRLEN", KEYS[2], found[at]) <= tonumber(ARGV[5]) then
    text = redis.call("HGET", KEYS[2], found[at]) or ""
  end
  nodes[#nodes + 1] = {string.sub(found[at], 1, 64), now - tonumber(found[at + 1]), text}
end
return {redis.call("ZCARD", KEYS[1]), nodes}
`);

/** Makes the last announcement of a node so old that the other nodes forget it soon. */
const LEAVE = redisScript(`
local score = redis.call("ZSCORE", KEYS[1], ARGV[1])
if score then redis.call("ZADD", KEYS[1], string.format("%.0f", score - ARGV[2]), ARGV[1]) end
`);
