import { Page } from "../../limits/page.ts";
import type { Feed, Topic } from "../../redis/feed.ts";
import { readPolicy } from "../policy-request.ts";
import type { ContainerPolicy, PolicyStore } from "../store.ts";

const POLICIES = "policies";

/** So many are read at a time. */
const BATCH = 1_000;

/** Policies as a node knows them: those of all nodes, in memory. */
export class RedisPolicyStore implements PolicyStore, Topic {
  readonly name: string = POLICIES;
  readonly #policies = new Map<string, { text: string; policy: ContainerPolicy }>();
  #feed: Feed | null = null;

  /** By which it hears of changes, and makes its own. */
  attach(feed: Feed): void {
    this.#feed = feed;
  }

  async changed(containers: readonly string[]): Promise<void> {
    for (let at = 0; at < containers.length; at += BATCH) {
      const batch = containers.slice(at, at + BATCH);
      const texts = await this.#shared.values(POLICIES, batch);
      for (const [index, container] of batch.entries()) this.#keep(container, texts[index]!);
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

  containers(after: string, count: number): string[] {
    this.#shared.mustBeFresh();
    const page = new Page(after, count);
    for (const container of this.#policies.keys()) page.add(container);
    return page.names();
  }

  /** The feed is closed by who opened it. */
  close(): void {}

  get #shared(): Feed {
    if (this.#feed === null) throw new TypeError("the policies are not attached to a feed");
    return this.#feed;
  }

  /** The same object as long as nothing else was set: what follows from it is kept with it. */
  #keep(container: string, text: string | null): void {
    if (text === null) this.#policies.delete(container);
    else if (this.#policies.get(container)?.text !== text) {
      this.#policies.set(container, { text, policy: policyOf(container, text) });
    }
  }
}

/** As strictly as it was read when it came: a member that this version does not know may be one that narrows. */
function policyOf(container: string, text: string): ContainerPolicy {
  try {
    return readPolicy((JSON.parse(text) as { policy: unknown }).policy);
  } catch (error) {
    throw new Error(`what Redis holds for container ${JSON.stringify(container)} is no policy`, { cause: error });
  }
}
