import { randomUUID } from "node:crypto";

import type { Feed, Topic } from "../redis/feed.ts";

const RESTARTS = "restarts";
/** How long a restart is kept for nodes that are cut off, in milliseconds. A node that starts later has no guests. */
const KEPT_MS = 600_000;
/** The restarts that a node remembers, so that it makes none of them twice: more than all nodes make in the time of a poll. */
const MAX_REMEMBERED = 1_000;
/** The number of restarts that are read in one command. */
const BATCH = 1_000;

/** The replacement of a container's guests. */
export interface Restart {
  readonly container: string;
  /** Whether runs in flight end too; otherwise they may finish. */
  readonly endsRuns: boolean;
  /** Whether a suspension is the cause. */
  readonly isSuspension: boolean;
}

/** The restart as JSON in Redis. Earlier releases write no container, which is then the member, and no cause. */
type Stored = { readonly id: string; readonly endsRuns: boolean } & Partial<Restart>;

export type RestartListener = (restart: Restart) => void;

/**
 * The restarts of containers, on this node and on all nodes that share its Redis. Each restart is a member, so that a later one, which
 * may let runs finish, does not replace one that ends them before all nodes have read it.
 */
export class Restarts implements Topic {
  readonly name: string = RESTARTS;
  readonly #listeners: RestartListener[] = [];
  readonly #made = new Set<string>();
  #feed: Feed | null = null;

  /** Sets the feed through which the nodes share restarts. Without it, there is one node. */
  attach(feed: Feed): void {
    this.#feed = feed;
  }

  onRestart(listener: RestartListener): void {
    this.#listeners.push(listener);
  }

  /** Restarts a container here at once, and on other nodes soon. @throws {Problem} `store_unavailable`: nothing was restarted. */
  async restart(container: string, endsRuns: boolean): Promise<void> {
    const restart = { container, endsRuns, isSuspension: false };
    const id = randomUUID();
    await this.#publish(id, restart);
    this.#make(id, restart);
  }

  /**
   * Call it after a container was suspended here. The other nodes then replace its guests, also if it was resumed before they
   * have read its policy.
   *
   * @throws {Problem} `store_unavailable`: other nodes have only the policy.
   */
  async suspended(container: string, endsRuns: boolean): Promise<void> {
    const id = randomUUID();
    // This node has replaced its guests already.
    this.#remember(id);
    await this.#publish(id, { container, endsRuns, isSuspension: true });
  }

  async changed(members: readonly string[]): Promise<void> {
    for (let at = 0; at < members.length; at += BATCH) {
      const batch = members.slice(at, at + BATCH);
      const texts = (await this.#feed?.values(RESTARTS, batch)) ?? [];
      for (const [index, text] of texts.entries()) {
        if (!text) continue;
        const { id, container = batch[index]!, endsRuns, isSuspension = false } = JSON.parse(text) as Stored;
        this.#make(id, { container, endsRuns, isSuspension });
      }
    }
  }

  async #publish(id: string, restart: Restart): Promise<void> {
    const text = JSON.stringify({ id, ...restart } satisfies Stored);
    await this.#feed?.publish(RESTARTS, id, text, Date.now() + KEPT_MS);
  }

  #make(id: string, restart: Restart): void {
    if (this.#made.has(id)) return;
    this.#remember(id);
    for (const listener of this.#listeners) listener(restart);
  }

  #remember(id: string): void {
    this.#made.add(id);
    if (this.#made.size > MAX_REMEMBERED) this.#made.delete(this.#made.values().next().value!);
  }
}
