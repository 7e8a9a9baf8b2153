import { Page } from "../../limits/page.ts";
import type { Feed, Topic } from "../../redis/feed.ts";
import { readPolicy } from "../policy-request.ts";
import type { ContainerPolicy, PolicyStore } from "../store.ts";

const POLICIES = "policies";

/** The number of policies that are read in one command. */
const BATCH = 1_000;

/** Stores the policies of all nodes in Redis, with a copy in memory. */
export class RedisPolicyStore implements PolicyStore, Topic {
  readonly name: string = POLICIES;
  readonly #policies = new Map<string, { text: string; policy: ContainerPolicy }>();
  #feed: Feed | null = null;

  /** Sets the feed through which the store receives and publishes changes. */
  attach(feed: Feed): void {
    this.#feed = feed;
  }

  async changed(containers: readonly string[]): Promise<void> {
    for (let at = 0; at < containers.length; at += BATCH) {
      const batch = containers.slice(at, at + BATCH);
      const texts = await this.#shared.values(POLICIES, batch);
      for (const [index, container] of batch.entries()) this.#update(container, texts[index]!);
    }
  }

  get(container: string): ContainerPolicy | undefined {
    this.#shared.mustBeFresh();
    return this.#policies.get(container)?.policy;
  }

  async set(container: string, policy: ContainerPolicy, setBy: string): Promise<void> {
    const text = JSON.stringify({ policy, setBy, setAt: Date.now() });
    await this.#shared.publish(POLICIES, container, text);
    this.#policies.set(container, { text, policy });
  }

  async remove(container: string): Promise<boolean> {
    const removed = await this.#shared.publish(POLICIES, container, null);
    this.#policies.delete(container);
    return removed;
  }

  containers(after: string, count: number, filter: (container: string) => boolean = () => true): string[] {
    this.#shared.mustBeFresh();
    const page = new Page(after, count);
    for (const container of this.#policies.keys()) if (filter(container)) page.add(container);
    return page.names();
  }

  /** Does nothing, because the opener of the feed closes it. */
  close(): void {}

  get #shared(): Feed {
    if (this.#feed === null) throw new TypeError("the policies are not attached to a feed");
    return this.#feed;
  }

  /** Updates the copy. An unchanged policy stays the same object, because callers cache data for it. */
  #update(container: string, text: string | null): void {
    if (text === null) this.#policies.delete(container);
    else if (this.#policies.get(container)?.text !== text) {
      this.#policies.set(container, { text, policy: policyOf(container, text) });
    }
  }
}

/** Parses a stored policy as strictly as a request, because a member of a newer version may restrict the container. */
function policyOf(container: string, text: string): ContainerPolicy {
  try {
    return readPolicy((JSON.parse(text) as { policy: unknown }).policy);
  } catch (error) {
    throw new Error(`the entry in Redis for container ${JSON.stringify(container)} is not a valid policy`, {
      cause: error,
    });
  }
}
