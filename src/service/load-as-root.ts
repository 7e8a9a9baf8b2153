import path from "node:path";

import { loadText } from "../builder/load-text.ts";
import { loadApi } from "../http/api/load-api.ts";
import { consoleFiles } from "../http/console/console-files.ts";
import { loadMcp } from "../http/mcp/load-mcp.ts";
import { openApiJson } from "../http/openapi/load-document.ts";
import type { Identity } from "../sandbox/privilege.ts";
import { isReadable } from "../sandbox/reachable-folder.ts";
import { giveFolder } from "../sandbox/temp/give-folder.ts";
import { loadExposition } from "../telemetry/metrics/exposition.ts";
import { copyThreadPrograms } from "../thread-programs.ts";
import type { History } from "./open-history.ts";

/**
 * Loads what a service loads when it is first needed, if the user that root gives the service cannot read its programs. The
 * programs of its threads are copied to the folder of the history, and `closers` remove the copies.
 */
export async function loadAsRoot(history: History, identity: Identity, closers: AsyncDisposableStack): Promise<void> {
  if (await isReadable(import.meta.filename, identity)) return;
  closers.use(await copyThreadPrograms(path.resolve(history.folder)));
  await giveFolder(history.folder, identity);
  await Promise.all([history.threads.load(), loadExposition(), loadApi(), loadMcp(), openApiJson(), consoleFiles()]);
  await loadText();
}
