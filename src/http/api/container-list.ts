import type { Labels } from "../../labels.ts";
import { useRecord } from "../../limits/limit-record.ts";
import { Page } from "../../limits/page.ts";
import { Slices } from "../../next-turn.ts";
import { type ContainerPolicy, NO_POLICY } from "../../policies/store.ts";
import type { Caller } from "../../tokens/caller.ts";
import { ContainerPatterns } from "../../tokens/container-patterns.ts";
import { describePolicy } from "./container-view.ts";
import type { ApiDependencies } from "./route.ts";

/** The names of a token whose counts are read at a time, until the page is full. */
const NAMES_PER_READ = 25;
/** The containers whose counts are read before they are described. */
const CONTAINERS_PER_READ = 100;
/** The most characters of a page. A description and labels may have sixteen kilobytes. */
const MAX_PAGE_CHARS = 2 * 2 ** 20;

/** The part of the list that a request selects. */
export interface Selection {
  readonly after: string;
  readonly count: number;
  /** Whether a container with these labels is included; null if all are. */
  readonly filter: ((labels: Labels) => boolean) | null;
}

/**
 * Returns a page of the permitted containers that have a policy, counted runs or a live guest, as JSON. A page with large entries has
 * fewer than `count`, but at least one.
 */
export async function containerPage(
  { after, count, filter }: Selection,
  { claims, family }: Caller,
  dependencies: ApiDependencies,
): Promise<string> {
  const { policies, limiter, containers } = dependencies;
  const permitted = new ContainerPatterns(claims);
  // One entry more than requested shows whether a next page exists.
  const page = new Page(after, count + 1);
  const isIncluded = (name: string, { labels }: ContainerPolicy): boolean => {
    return permitted.has(name) && (filter === null || filter(labels));
  };
  for (const name of await policies.containers(after, count + 1, isIncluded, family)) page.add(name);
  // Only a policy has labels.
  if (filter === null) {
    for (const name of await limiter.containers(after, count + 1, permitted.prefixes, family)) page.add(name);
    for (const name of containers.names()) if (permitted.has(name)) page.add(name);
    await addCounted(page, [...permitted.names].filter((name) => name > after).toSorted(), limiter, family);
  }
  const names = page.names();
  const texts = await describe(names.slice(0, count), family, dependencies);
  const next = names.length > texts.length ? names[texts.length - 1]! : null;
  return `{"containers":[${texts.join()}],"next":${JSON.stringify(next)}}`;
}

/** Adds the names that runs count against. @param names in order */
async function addCounted(
  page: Page,
  names: readonly string[],
  limiter: ApiDependencies["limiter"],
  family: string,
): Promise<void> {
  const unknown = names.filter((name) => !page.has(name));
  for (let at = 0; at < unknown.length && !page.isFullBefore(unknown[at]!); at += NAMES_PER_READ) {
    const some = unknown.slice(at, at + NAMES_PER_READ);
    for (const name of await limiter.counted(some, family)) page.add(name);
  }
}

/** @returns the JSON of the first containers, until the page is full */
async function describe(
  names: readonly string[],
  holder: string,
  { policies, limiter, containers }: ApiDependencies,
): Promise<string[]> {
  const slices = new Slices(holder);
  const texts: string[] = [];
  let chars = 0;
  for (let at = 0; at < names.length && chars <= MAX_PAGE_CHARS; at += CONTAINERS_PER_READ) {
    const some = names.slice(at, at + CONTAINERS_PER_READ);
    const uses = await limiter.uses(some, holder);
    for (const [index, container] of some.entries()) {
      if (chars > MAX_PAGE_CHARS) break;
      if (slices.hasEnded) await slices.next();
      const { limits, ...policy } = policies.get(container) ?? NO_POLICY;
      const text = JSON.stringify({
        container,
        limits,
        // The first form of this list, for clients that read it.
        policy: { limits },
        ...describePolicy(policy),
        used: useRecord(uses[index]!),
        ...containers.activity(container),
      });
      texts.push(text);
      chars += text.length;
    }
  }
  return texts;
}
