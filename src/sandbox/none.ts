import { chownSync, mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import path from "node:path";

import { GUEST_GROUP, heldBy } from "./cgroup/cgroup.ts";
import { openCgroups } from "./cgroup/open-cgroups.ts";
import { GuestChild, spawnGuest } from "./guest-child.ts";
import { GUEST_MALLOC } from "./guest-malloc.ts";
import { resourcesOf } from "./kind-resources.ts";
import type { GuestResources, LocalSandbox } from "./local-sandbox.ts";
import { encodePlan } from "./plan/encode.ts";
import { sendPlan } from "./plan/execute-plan.ts";
import { PLAN_DESCRIPTOR } from "./plan/stub.ts";
import { esbuildArguments, esbuildEnvironment } from "./program/esbuild-program.ts";
import { describeResources, guestArguments } from "./program/guest-program.ts";
import { underLimits } from "./rlimits.ts";
import { memoryTakerPlan } from "./self-test/memory-taker.ts";
import { processTag } from "./temp/process-tag.ts";
import type { RunFolder } from "./temp/run-folder.ts";
import { guestUids } from "./uids.ts";

/**
 * Opens the level without isolation: a plain process with Node's permission flags. According to Node's documentation they
 * do not protect against malicious code (https://nodejs.org/api/permissions.html). For development, on systems that do not
 * support another level.
 */
export async function openNone(folder: RunFolder, limits: GuestResources): Promise<LocalSandbox> {
  const cgroups = await openCgroups(limits);
  const nextIdentity = guestUids();
  const group = processTag(GUEST_GROUP);
  let started = 0;
  return {
    facts: {
      level: "none",
      mechanisms: "Node's permission flags",
      fallbackReason: null,
      resources: describeResources(cgroups),
      held: heldBy(cgroups),
      layers: [],
    },
    start: (frames, kind = "task") => {
      const own = resourcesOf(kind, limits);
      const program = kind === "esbuild" ? folder.esbuild() : null;
      const isTaker = kind === "memory-taker";
      const tmp = mkdtempSync(path.join(folder.path, "tmp-"));
      const identity = nextIdentity();
      if (identity.uid !== undefined) chownSync(tmp, identity.uid, identity.gid!);
      const main = path.join(folder.program, "guest/main.js");
      const words = program
        ? [program.file, ...esbuildArguments(program)]
        : isTaker
          ? [folder.stub]
          : [folder.node, ...permissions(folder.program, tmp), ...guestArguments(main, own, !heldBy(cgroups).cpu)];
      const [shell, ...args] = underLimits(own, cgroups, program ? FRAMES_AS_STREAMS : "");
      const environment = program ? esbuildEnvironment(own) : { ...GUEST_MALLOC, TMPDIR: tmp };
      const child = spawnGuest(
        {
          program: shell!,
          args: [...args, ...words],
          extraStdio: isTaker ? ["pipe"] : [],
          identity,
          environment,
          cwd: tmp,
        },
        frames,
      );
      if (isTaker) {
        const plan = encodePlan(memoryTakerPlan({ steps: [] }, own, heldBy(cgroups).memory));
        sendPlan(child.stdio[PLAN_DESCRIPTOR] as Socket, plan);
      }
      const pid = Promise.resolve(child.pid!);
      const guest = new GuestChild(child, pid, cgroups, `${group}${++started}`, { limits: own, stub: folder.stub });
      void guest.exited.then(() => rmSync(tmp, { recursive: true, force: true }));
      return guest;
    },
    prefer: async (pids) => cgroups?.prefer(pids),
    close: async () => {
      await cgroups?.close();
      await folder.remove();
    },
  };
}

/** esbuild serves on its standard streams. */
const FRAMES_AS_STREAMS = "<&3 >&3 3<&-";

function permissions(program: string, tmp: string): string[] {
  return [
    "--permission",
    "--allow-worker",
    `--allow-fs-read=${program}`,
    `--allow-fs-read=${tmp}`,
    `--allow-fs-write=${tmp}`,
  ];
}
