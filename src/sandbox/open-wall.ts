import { tmpdir } from "node:os";

import { removeLeftovers } from "./leftovers.ts";
import { openNamespaces } from "./namespaces.ts";
import { openNone } from "./none.ts";
import { prepareRunFolder, RUN_FOLDER } from "./run-folder.ts";
import type { SandboxOptions, Wall } from "./wall.ts";

/**
 * Opens the rung that is asked for in this process, after it has removed what services left behind that were killed.
 *
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openWall(options: SandboxOptions): Promise<Wall> {
  await removeLeftovers(tmpdir(), RUN_FOLDER);
  const folder = await prepareRunFolder();
  try {
    return await (options.isolation === "none" ? openNone : openNamespaces)(folder, options);
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
