import { execFileSync, spawnSync } from "node:child_process";
import { stat } from "node:fs/promises";

/** Whether this machine has `prlimit`. */
export function hasPrlimit(): boolean {
  return !spawnSync("prlimit", ["--version"]).error;
}

/** Limits the length of the files that a service writes. The user of the service needs no privilege for that. */
export async function limitFiles({ data, pid }: { data: string; pid: number }, bytes: string): Promise<void> {
  const { uid, gid } = await stat(data);
  execFileSync("prlimit", [`--pid=${pid}`, `--fsize=${bytes}:`], { uid, gid });
}
