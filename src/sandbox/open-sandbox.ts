import { openLauncher } from "./launcher/launcher.ts";
import { sandboxOf, type SandboxOptions } from "./local-sandbox.ts";
import { openLocalSandbox } from "./open-local-sandbox.ts";
import { isPrivileged } from "./privilege.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * Opens the level that is asked for: in this process when it is a user's, behind a launcher when it is root's, so that it
 * can give root up.
 *
 * @param lost is called when no guest can be started any more, whatever happens.
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openSandbox(options: SandboxOptions, lost: (error: Error) => void): Promise<Sandbox> {
  return isPrivileged() ? openLauncher(options, lost) : sandboxOf(await openLocalSandbox(options), options);
}
