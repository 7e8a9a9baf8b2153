import { type Means, openConfined } from "../../src/sandbox/confined.ts";
import { isPrivileged, mayChangeRoot } from "../../src/sandbox/privilege.ts";
import { prepareRunFolder } from "../../src/sandbox/run-folder.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { sandboxBehind, type SandboxOptions } from "../../src/sandbox/wall.ts";
import { ownLandlock } from "./landlock.ts";

/** The ways in which this machine can confine guests: with less than it has, as one that has less. */
export async function confinements(): Promise<Map<string, Means>> {
  const abi = await ownLandlock();
  const all = new Map<string, Means>();
  if (mayChangeRoot()) {
    all.set("confined by a root of its own", { ownUsers: true, jail: true, landlockAbi: 0 });
    if (abi > 0)
      all.set("confined by a root of its own and Landlock", { ownUsers: true, jail: true, landlockAbi: abi });
  }
  if (abi > 0) {
    if (isPrivileged()) all.set("confined by Landlock and a user", { ownUsers: true, jail: false, landlockAbi: abi });
    all.set("confined by Landlock, as the same user", { ownUsers: false, jail: false, landlockAbi: abi });
    all.set("confined by the first Landlock", { ownUsers: false, jail: false, landlockAbi: 1 });
  }
  return all;
}

export async function openConfinedBy(means: Means, options: SandboxOptions): Promise<Sandbox> {
  return sandboxBehind(await openConfined(await prepareRunFolder(), options, means));
}
