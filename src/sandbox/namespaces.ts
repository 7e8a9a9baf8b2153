import { closeSync, openSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";

import { findBubblewrap } from "./bubblewrap.ts";
import { GUEST_GROUP } from "./cgroup.ts";
import { GuestChild, spawnGuest } from "./guest-child.ts";
import { guestArguments, resourcesInWords } from "./guest-program.ts";
import { ownName } from "./leftovers.ts";
import { sharedLibraries } from "./libraries.ts";
import { openCgroups } from "./open-cgroups.ts";
import { underLimits } from "./rlimits.ts";
import type { RunFolder } from "./run-folder.ts";
import { seccompFilter } from "./seccomp.ts";
import type { Architecture } from "./system-calls.ts";
import { guestUids } from "./uids.ts";
import type { GuestResources, Wall } from "./wall.ts";

/** Descriptors of bwrap, by their place in `stdio`. */
const INFO = 4;
const FILTER = 5;

/**
 * The rung made of bubblewrap: user, mount, PID, network, IPC, UTS and cgroup namespaces, an empty root, no capability,
 * the seccomp filter, and a control group where one can be made.
 *
 * @throws {Error} saying what is missing and how to get it.
 */
export async function openNamespaces(folder: RunFolder, limits: GuestResources): Promise<Wall> {
  const bwrap = await findBubblewrap();
  const filterFile = path.join(folder.path, "filter.bpf");
  // Process 1 of its namespace, and nothing but /tmp can be written.
  writeFileSync(filterFile, seccompFilter(process.arch as Architecture, { pid: 1, ownsFiles: true }).program);
  const cgroups = await openCgroups(limits);
  const [program, ...words] = [...underLimits(limits, cgroups), bwrap, ...(await bwrapArguments(folder, limits))];
  const nextIdentity = guestUids();
  const group = ownName(GUEST_GROUP);
  let started = 0;
  return {
    rung: "namespaces",
    means: "bubblewrap",
    passedOver: null,
    resources: resourcesInWords(cgroups),
    holdsResources: cgroups !== null,
    start: (frames) => {
      const filter = openSync(filterFile, "r");
      try {
        const identity = nextIdentity();
        const command = { program: program!, words, more: ["pipe", filter] as const, identity };
        const child = spawnGuest({ ...command, environment: {}, cwd: "/" }, frames);
        return new GuestChild(child, readPid(child.stdio[INFO] as Socket), cgroups, `${group}${++started}`);
      } finally {
        closeSync(filter);
      }
    },
    join: async () => cgroups?.join(),
    close: async () => {
      await cgroups?.close();
      await folder.remove();
    },
  };
}

/** bubblewrap says which process is number 1 of the namespace that it has made. */
async function readPid(info: Socket): Promise<number> {
  return (JSON.parse(await text(info)) as { "child-pid": number })["child-pid"];
}

async function bwrapArguments(folder: RunFolder, limits: GuestResources): Promise<string[]> {
  const binds = [folder.node, "/bin/node"];
  for (const library of sharedLibraries()) binds.push(await realpath(library), library);
  binds.push(path.join(folder.program, "guest"), "/guest/guest", path.join(folder.program, "wire"), "/guest/wire");
  return [
    ...["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--unshare-all"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "task", "--as-pid-1"],
    ...pairs(binds).flatMap(([from, to]) => ["--ro-bind", from, to]),
    ...[
      "--perms",
      "1777",
      "--size",
      String(limits.tmpBytes),
      "--tmpfs",
      "/tmp",
      "--remount-ro",
      "/",
      "--chdir",
      "/tmp",
    ],
    ...["--info-fd", String(INFO), "--seccomp", String(FILTER), "--"],
    ...["/bin/node", ...guestArguments("/guest/guest/main.js", limits)],
  ];
}

function pairs(list: readonly string[]): [string, string][] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!]);
}
