import { readPermit } from "../package-names.ts";
import type { Feed, Topic } from "../redis/feed.ts";
import type { AddedPermit, PermitStore } from "./permit-store.ts";

const TOPIC = "packages";

/** The packages that administrators have added, for all nodes of a Redis, with a copy in memory. */
export class RedisPermits implements PermitStore, Topic {
  readonly name: string = TOPIC;
  readonly #permits = new Map<string, AddedPermit>();
  readonly #listeners: (() => void)[] = [];
  #feed: Feed | null = null;

  /** Sets the feed through which the nodes share the list. */
  attach(feed: Feed): void {
    this.#feed = feed;
  }

  get permits(): readonly AddedPermit[] {
    return [...this.#permits.values()].toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
  }

  async addPermit({ entry, by, at }: AddedPermit): Promise<boolean> {
    const isNew = await this.#shared.replace(TOPIC, entry, null, JSON.stringify({ by, at }));
    // Read from Redis, because another node may have added it first.
    await this.changed([entry]);
    return isNew;
  }

  async removePermit(entry: string): Promise<boolean> {
    const isGone = await this.#shared.publish(TOPIC, entry, null);
    this.#permits.delete(entry);
    this.#tell();
    return isGone;
  }

  onPermits(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async changed(entries: readonly string[]): Promise<void> {
    const texts = await this.#shared.values(TOPIC, entries);
    for (const [index, entry] of entries.entries()) {
      const permit = permitOf(entry, texts[index] ?? null);
      if (permit) this.#permits.set(entry, permit);
      else this.#permits.delete(entry);
    }
    this.#tell();
  }

  get #shared(): Feed {
    if (this.#feed === null) throw new TypeError("the list of packages is not attached to a feed");
    return this.#feed;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Returns null for an entry that was removed, and for one that this release cannot read: it permits nothing. */
function permitOf(entry: string, text: string | null): AddedPermit | null {
  if (text === null || readPermit(entry) === null) return null;
  try {
    const { by, at } = JSON.parse(text) as Record<string, unknown>;
    return typeof by === "string" && typeof at === "number" ? { entry, by, at } : null;
  } catch {
    return null;
  }
}
