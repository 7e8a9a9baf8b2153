import { tmpdir } from "node:os";

import { findBubblewrap, tryNamespaces } from "./bubblewrap.ts";
import { openConfined } from "./confined.ts";
import type { SandboxOptions, LocalSandbox } from "./local-sandbox.ts";
import { openNamespaces } from "./namespaces.ts";
import { openNone } from "./none.ts";
import { prepareRunFolder, RUN_FOLDER, type RunFolder } from "./temp/run-folder.ts";
import { removeStaleFolders } from "./temp/stale-folders.ts";
import { userNamespaceRemedy } from "./user-namespaces.ts";

/**
 * Opens the configured isolation level in this process. First removes what killed services left behind.
 *
 * @throws {Error} that names what is missing and how to get it.
 */
export async function openLocalSandbox(options: SandboxOptions): Promise<LocalSandbox> {
  await removeStaleFolders(tmpdir(), RUN_FOLDER);
  const folder = await prepareRunFolder();
  try {
    return await OPENERS[options.isolation](folder, options);
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

const OPENERS = { auto: openStrongest, namespaces: openNamespaces, confined: openConfined, none: openNone } as const;

/** Opens `namespaces`, otherwise `confined`. Only an attempt shows whether this process can create namespaces. */
async function openStrongest(folder: RunFolder, options: SandboxOptions): Promise<LocalSandbox> {
  const namespacesFault = await faultOf(findBubblewrap().then(tryNamespaces));
  if (namespacesFault === null) return openNamespaces(folder, options);
  const confined = openConfined(folder, options);
  const confinedFault = await faultOf(confined);
  if (confinedFault === null) {
    const { facts, ...others } = await confined;
    return { ...others, facts: { ...facts, fallbackReason: `namespaces: ${namespacesFault}` } };
  }
  const remedy = await userNamespaceRemedy();
  throw new Error(
    `no isolation level works here: namespaces: ${namespacesFault} (${remedy}); confined: ${confinedFault}`,
  );
}

async function faultOf(work: Promise<unknown>): Promise<string | null> {
  return work.then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
}
