import { type Mechanisms, openConfined } from "../../src/sandbox/confined.ts";
import { sandboxOf, type SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import { isPrivileged, mayChangeRoot } from "../../src/sandbox/privilege.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { prepareRunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { ownLandlock } from "./landlock.ts";

/**
 * Returns the sets of mechanisms by which this machine can confine guests. Includes sets without some of its mechanisms, as
 * on a machine that lacks these.
 */
export async function confinements(): Promise<Map<string, Mechanisms>> {
  const abi = await ownLandlock();
  const all = new Map<string, Mechanisms>();
  if (mayChangeRoot()) {
    all.set("confined by a separate root", { ownUsers: true, jail: true, landlockAbi: 0 });
    if (abi > 0) all.set("confined by a separate root and Landlock", { ownUsers: true, jail: true, landlockAbi: abi });
  }
  if (abi > 0) {
    if (isPrivileged())
      all.set("confined by Landlock and a separate user", { ownUsers: true, jail: false, landlockAbi: abi });
    all.set("confined by Landlock, as the same user", { ownUsers: false, jail: false, landlockAbi: abi });
    all.set("confined by the first version of Landlock", { ownUsers: false, jail: false, landlockAbi: 1 });
  }
  return all;
}

export async function openConfinedBy(mechanisms: Mechanisms, options: SandboxOptions): Promise<Sandbox> {
  return sandboxOf(await openConfined(await prepareRunFolder(), options, mechanisms));
}
