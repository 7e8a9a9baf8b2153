import type { Answer, BuildMessage } from "./build-messages.ts";
import { bundled } from "./bundle.ts";
import { Modules } from "./modules.ts";
import { resolved } from "./resolve.ts";
import { unpacked } from "./unpacked.ts";

/** Resolves, fetches and bundles a set of packages. @throws {Failure} */
export async function answerBuild(order: BuildMessage): Promise<{ head: Answer; artefact: Uint8Array }> {
  const resolution = await resolved(order);
  const { packages, locked } = await unpacked(resolution);
  const artefact = await bundled(order.entries, new Modules(packages, resolution.roots));
  const roots = Object.fromEntries([...resolution.roots].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { head: { is: "built", packages: locked, roots }, artefact };
}
