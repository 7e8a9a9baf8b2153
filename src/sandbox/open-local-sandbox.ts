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
 * Opens the level that is asked for in this process, after it has removed what services left behind that were killed.
 *
 * @throws {Error} saying what is missing and how to get it.
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

/** Whether namespaces can be had shows only when they are made. */
async function openStrongest(folder: RunFolder, options: SandboxOptions): Promise<LocalSandbox> {
  const missing = await faultOf(findBubblewrap().then(tryNamespaces));
  if (missing === null) return openNamespaces(folder, options);
  const wall = openConfined(folder, options);
  const alsoMissing = await faultOf(wall);
  if (alsoMissing === null) {
    const { facts, ...others } = await wall;
    return { ...others, facts: { ...facts, fallbackReason: `namespaces: ${missing}` } };
  }
  throw new Error(
    `no wall can be made: namespaces: ${missing} (${await userNamespaceRemedy()}); confined: ${alsoMissing}`,
  );
}

async function faultOf(work: Promise<unknown>): Promise<string | null> {
  return work.then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
}
