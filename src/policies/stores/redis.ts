import { Problem } from "../../errors.ts";
import type { Feed, Topic } from "../../redis/feed.ts";
import { selectContainers } from "../select-containers.ts";
import {
  type ContainerPolicy,
  NO_POLICY,
  type PolicyChange,
  type PolicyFilter,
  type PolicyStore,
  type Suspension,
} from "../store.ts";
import { isEmpty, isSame, policyOf, storedPolicy } from "../stored-policy.ts";

const POLICIES = "policies";

/** The number of policies that are read in one command. */
const BATCH = 1_000;
/** How often a change is tried again when another node changes the policy at the same time. */
const ATTEMPTS = 10;

/** Stores the policies of all nodes in Redis, with a copy in memory. */
export class RedisPolicyStore implements PolicyStore, Topic {
  readonly name: string = POLICIES;
  readonly #policies = new Map<string, { text: string; policy: ContainerPolicy }>();
  readonly #suspendedListeners: ((container: string, suspension: Suspension) => void)[] = [];
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

  async change(
    container: string,
    change: PolicyChange,
    by: string,
  ): Promise<{ before: ContainerPolicy; after: ContainerPolicy }> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // Read from Redis: the copy of this node may lack a change of another node, such as a suspension.
      const [known = null] = await this.#shared.values(POLICIES, [container]);
      const before = known === null ? NO_POLICY : policyIn(container, known);
      const after = change(before);
      if (isSame(before, after)) return { before, after: before };
      const policy = storedPolicy(after);
      const text = isEmpty(after) ? null : JSON.stringify({ policy, setBy: by, setAt: Date.now() });
      if (!(await this.#shared.replace(POLICIES, container, known, text))) continue;
      this.#update(container, text);
      return { before, after };
    }
    throw new Problem("overloaded", "other callers keep changing the container", { retryAfterMs: 1_000 });
  }

  async containers(after: string, count: number, filter?: PolicyFilter, holder?: string): Promise<string[]> {
    this.#shared.mustBeFresh();
    return await selectContainers(this.#entries(), after, count, filter, holder);
  }

  onSuspended(listener: (container: string, suspension: Suspension) => void): void {
    this.#suspendedListeners.push(listener);
  }

  /** Does nothing, because the opener of the feed closes it. */
  close(): void {}

  *#entries(): Generator<readonly [string, ContainerPolicy]> {
    for (const [container, { policy }] of this.#policies) yield [container, policy];
  }

  get #shared(): Feed {
    if (this.#feed === null) throw new TypeError("the policies are not attached to a feed");
    return this.#feed;
  }

  /** Updates the copy. An unchanged policy stays the same object, because callers cache data for it. */
  #update(container: string, text: string | null): void {
    if (text === null) this.#policies.delete(container);
    else if (this.#policies.get(container)?.text !== text) {
      const policy = policyIn(container, text);
      this.#policies.set(container, { text, policy });
      const { suspended } = policy;
      if (suspended) for (const listener of this.#suspendedListeners) listener(container, suspended);
    }
  }
}

/** Returns the policy in an entry. */
function policyIn(container: string, text: string): ContainerPolicy {
  try {
    return policyOf((JSON.parse(text) as { policy: unknown }).policy);
  } catch (error) {
    throw new Error(`the entry in Redis for container ${JSON.stringify(container)} is not a valid policy`, {
      cause: error,
    });
  }
}
