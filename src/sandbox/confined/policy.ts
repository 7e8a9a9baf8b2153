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

/** A guest keeps descriptors 0 to 3: standard streams and frames. The plan's own descriptor and all above are closed. */
const CLOSE_FROM = 4;

/** The paths of the files that a guest uses, as the guest sees them. */
export interface GuestFiles {
  readonly node: string;
  /** The folder of the guest program. */
  readonly program: string;
  /** The libraries of Node, including the dynamic loader. */
  readonly libraries: readonly string[];
}

/** Returns the paths in the separate root of a guest. */
export function filesInRoot(): GuestFiles {
  return { node: "/bin/node", program: "/guest", libraries: sharedLibraries() };
}

/** Returns the paths for a guest that sees the host's root. */
export async function filesOnHost({ node, program }: RunFolder): Promise<GuestFiles> {
  const libraries = await Promise.all(sharedLibraries().map((library) => realpath(library)));
  return { node: await realpath(node), program, libraries };
}

/** Returns the policy that turns a process into a guest. @param landlockAbi the version of Landlock; 0 for none. */
export function guestPolicy(
  files: GuestFiles,
  home: GuestHome,
  identity: Partial<Identity>,
  limits: GuestResources,
  cgroups: Cgroups | null,
  landlockAbi: number,
): GuestPolicy {
  const common = commonPolicy(home, identity, limits, cgroups);
  return {
    ...common,
    closeFrom: CLOSE_FROM,
    ...(landlockAbi > 0 ? { landlock: { abi: landlockAbi, rules: rulesFor(files, common.workingFolder) } } : {}),
    // Without a PID namespace the guest's pid is the host's. A separate user owns only files that it created; the service's
    // user also owns files of the service.
    filter: { pid: "own", ownsFiles: common.identity !== undefined },
    program: files.node,
  };
}

/** The descriptor of the frames, which become the standard streams of esbuild. */
const FRAMES = 3;

/**
 * Returns the policy that turns a process into esbuild: no file except the binary, and nothing to write. esbuild and Go's runtime make
 * no call that the filter of tasks refuses, so the filter is the same. There is no seal (`plan/seal.ts`), because the dynamic loader
 * does not run: the seal keeps JavaScript from running native code, and esbuild runs none of the code that it bundles.
 */
export function esbuildPolicy(
  file: string,
  home: GuestHome,
  identity: Partial<Identity>,
  limits: GuestResources,
  cgroups: Cgroups | null,
  landlockAbi: number,
): GuestPolicy {
  return {
    ...commonPolicy(home, identity, limits, cgroups),
    standardStreams: FRAMES,
    closeFrom: FRAMES,
    ...(landlockAbi > 0 ? { landlock: { abi: landlockAbi, rules: [{ path: file, rights: "execute" }] } } : {}),
    filter: { pid: "own", ownsFiles: false },
    program: file,
  };
}

/** Returns what all guests have: a folder to work in, limits, and no privilege. */
function commonPolicy(
  home: GuestHome,
  identity: Partial<Identity>,
  limits: GuestResources,
  cgroups: Cgroups | null,
): Omit<GuestPolicy, "closeFrom"> & { readonly workingFolder: string } {
  const own = identity.uid === undefined ? null : { uid: identity.uid, gid: identity.gid! };
  return {
    architecture: process.arch as Architecture,
    ...(home.root === null ? {} : { root: home.root }),
    workingFolder: home.root === null ? home.tmp : "/tmp",
    ...guestLimits(limits, cgroups, own !== null),
    ...(own ? { identity: own } : {}),
    dropsCapabilities: true,
    diesWithParent: true,
  };
}

/** Returns the Landlock rules. The libraries are executable because the kernel executes the loader, which is one of them. */
function rulesFor({ node, program, libraries }: GuestFiles, tmp: string): LandlockRule[] {
  return [
    ...[node, ...libraries].map((path) => ({ path, rights: "execute" }) as const),
    { path: program, rights: "tree" },
    { path: tmp, rights: "write" },
  ];
}
