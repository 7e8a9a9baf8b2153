import { execFileSync, spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";

/** Whether `limitFiles` can be had here. */
export function hasPrlimit(): boolean {
  return !spawnSync("prlimit", ["--version"]).error;
}

/** Lets a service write no further than so far into a file, as its own user, who needs no right for that. */
export async function limitFiles({ data, pid }: { data: string; pid: number }, bytes: string): Promise<void> {
  const { uid, gid } = await stat(data);
  execFileSync("prlimit", [`--pid=${pid}`, `--fsize=${bytes}:`], { uid, gid });
}
