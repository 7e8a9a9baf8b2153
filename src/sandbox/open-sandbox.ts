import { openLauncher } from "./launcher/launcher.ts";
import { sandboxOf, type SandboxOptions } from "./local-sandbox.ts";
import { openLocalSandbox } from "./open-local-sandbox.ts";
import { isPrivileged } from "./privilege.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * Opens the configured isolation level. A process without privileges opens it itself. A privileged process opens it in a
 * launcher, so that this process can give up root.
 *
 * @param onLost is called when the sandbox can never start a guest again.
 * @throws {Error} that names what is missing and how to get it.
 */
export async function openSandbox(options: SandboxOptions, onLost: (error: Error) => void): Promise<Sandbox> {
  return isPrivileged() ? openLauncher(options, onLost) : sandboxOf(await openLocalSandbox(options), options);
}
