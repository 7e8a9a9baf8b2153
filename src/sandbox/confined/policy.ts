import { realpath } from "node:fs/promises";

import type { Cgroups } from "../cgroup/cgroup.ts";
import type { GuestResources } from "../local-sandbox.ts";
import type { GuestPolicy } from "../plan/guest-plan.ts";
import type { LandlockRule } from "../plan/landlock.ts";
import type { Identity } from "../privilege.ts";
import { sharedLibraries } from "../program/libraries.ts";
import { guestLimits } from "../rlimits.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import type { RunFolder } from "../temp/run-folder.ts";
import type { GuestHome } from "./guest-home.ts";

/** Standard streams and frames; the plan's own descriptor is the first that goes. */
const CLOSE_FROM = 4;

/** What a guest is started from, by the names that it has for it. */
export interface GuestFiles {
  readonly node: string;
  /** The folder of the guest program. */
  readonly program: string;
  /** Executed or mapped to start Node; the loader is among them. */
  readonly libraries: readonly string[];
}

/** As they lie in the root of a guest. */
export function filesInRoot(): GuestFiles {
  return { node: "/bin/node", program: "/guest", libraries: sharedLibraries() };
}

/** As they lie on the host. */
export async function filesOnHost({ node, program }: RunFolder): Promise<GuestFiles> {
  const libraries = await Promise.all(sharedLibraries().map((library) => realpath(library)));
  return { node: await realpath(node), program, libraries };
}

/** What becomes of a process before it is a guest. @param landlockAbi 0 where the kernel has none. */
export function guestPolicy(
  files: GuestFiles,
  home: GuestHome,
  identity: Partial<Identity>,
  limits: GuestResources,
  cgroups: Cgroups | null,
  landlockAbi: number,
): GuestPolicy {
  const own = identity.uid === undefined ? null : { uid: identity.uid, gid: identity.gid! };
  const tmp = home.root === null ? home.tmp : "/tmp";
  return {
    architecture: process.arch as Architecture,
    closeFrom: CLOSE_FROM,
    ...(home.root === null ? {} : { root: home.root }),
    workingFolder: tmp,
    ...guestLimits(limits, cgroups, own !== null),
    ...(own ? { identity: own } : {}),
    dropsCapabilities: true,
    diesWithParent: true,
    ...(landlockAbi > 0 ? { landlock: { abi: landlockAbi, rules: rulesFor(files, tmp) } } : {}),
    // It counts like the host. A user of its own owns what it has made, and no more; any other owns files of the service.
    filter: { pid: "own", ownsFiles: own !== null },
    program: files.node,
  };
}

/** The libraries, too, are executable: the kernel starts the loader, which is one of them. */
function rulesFor({ node, program, libraries }: GuestFiles, tmp: string): LandlockRule[] {
  return [
    ...[node, ...libraries].map((path) => ({ path, rights: "execute" }) as const),
    { path: program, rights: "tree" },
    { path: tmp, rights: "write" },
  ];
}
