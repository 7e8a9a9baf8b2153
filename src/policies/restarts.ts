import { randomUUID } from "node:crypto";

import type { Feed, Topic } from "../redis/feed.ts";

const RESTARTS = "restarts";
/** How long a restart is kept for nodes that are cut off, in milliseconds. A node that starts later has no guests. */
const KEPT_MS = 600_000;
/** The restarts that a node remembers, so that it makes none of them twice: more than all nodes make in the time of a poll. */
const MAX_REMEMBERED = 1_000;

/** @param endsRuns whether runs in flight end too; otherwise they may finish */
export type RestartListener = (container: string, endsRuns: boolean) => void;

/** The restarts of containers, on this node and on all nodes that share its Redis. */
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
    const id = randomUUID();
    const text = JSON.stringify({ id, endsRuns });
    await this.#feed?.publish(RESTARTS, container, text, Date.now() + KEPT_MS);
    this.#make(container, id, endsRuns);
  }

  async changed(containers: readonly string[]): Promise<void> {
    const texts = (await this.#feed?.values(RESTARTS, containers)) ?? [];
    for (const [at, container] of containers.entries()) {
      const text = texts[at];
      if (!text) continue;
      const { id, endsRuns } = JSON.parse(text) as { id: string; endsRuns: boolean };
      this.#make(container, id, endsRuns);
    }
  }

  #make(container: string, id: string, endsRuns: boolean): void {
    if (this.#made.has(id)) return;
    this.#made.add(id);
    if (this.#made.size > MAX_REMEMBERED) this.#made.delete(this.#made.values().next().value!);
    for (const listener of this.#listeners) listener(container, endsRuns);
  }
}
