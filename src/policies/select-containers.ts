import { Page } from "../limits/page.ts";
import { Slices } from "../next-turn.ts";
import type { ContainerPolicy, PolicyFilter } from "./store.ts";

/** Does what `PolicyStore.containers` describes. @param policies may change meanwhile */
export async function selectContainers(
  policies: Iterable<readonly [string, ContainerPolicy]>,
  after: string,
  count: number,
  filter: PolicyFilter = () => true,
  holder?: string,
): Promise<string[]> {
  const slices = new Slices(holder ?? "");
  const page = new Page(after, count);
  for (const [container, policy] of policies) {
    if (slices.hasEnded) await slices.next();
    if (filter(container, policy)) page.add(container);
  }
  return page.names();
}
