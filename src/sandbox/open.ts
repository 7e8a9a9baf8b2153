import { openLauncher } from "./launcher.ts";
import { openWall } from "./open-wall.ts";
import { isPrivileged } from "./privilege.ts";
import type { Sandbox } from "./sandbox.ts";
import { sandboxBehind, type SandboxOptions } from "./wall.ts";

/**
 * Opens the rung that is asked for: in this process when it is a user's, behind a launcher when it is root's, so that it
 * can give root up.
 *
 * @param lost is called when no guest can be started any more, whatever happens.
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openSandbox(options: SandboxOptions, lost: (error: Error) => void): Promise<Sandbox> {
  return isPrivileged() ? openLauncher(options, lost) : sandboxBehind(await openWall(options), options);
}
