import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import type { Service } from "../../test/contract/service.ts";

/** The resources of a service at one moment. Memory and descriptors are those of the service's process, without guests. */
export interface Sample {
  readonly rssMiB: number;
  readonly descriptors: number;
  readonly processes: number;
  readonly guests: number;
  readonly groups: number;
  readonly files: number;
}

/** @throws {Error} if the service's process has ended. */
export async function sample({ pid, trail }: Service): Promise<Sample> {
  const [status, descriptors, processes, files] = await Promise.all([
    readFile(`/proc/${pid}/status`, "latin1"),
    readdir(`/proc/${pid}/fd`),
    trail.processes(),
    trail.files(),
  ]);
  const mib = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1_024;
  return {
    rssMiB: mib("VmRSS"),
    descriptors: descriptors.length,
    processes: processes.length,
    guests: processes.filter(({ kind }) => kind === "guest").length,
    groups: new Set(trail.groups().map((folder) => path.basename(folder))).size,
    files: files.length,
  };
}
