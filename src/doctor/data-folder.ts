import { constants, type Stats } from "node:fs";
import { access, readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";

import { missingParent } from "../data-folder.ts";
import { findLostPart, type LostPart } from "../data-parts.ts";
import type { Finding } from "../finding.ts";

const OTHERS = 0o077;

/**
 * Examines the data folder without opening a database in it, because a service may be using it.
 *
 * @param keys the file of the signing keys, if it is not in the folder
 * @param isShared whether tokens, policies and counts are in Redis
 */
export async function examineDataFolder(folder: string, keys: string | null, isShared = false): Promise<Finding> {
  const found = await stat(folder).catch(() => null);
  if (!found) return examineMissing(folder);
  if (!found.isDirectory()) return fault("open", `${folder} is not a folder`, "move it away, or give --data");
  if (!(await mayWrite(folder))) {
    const remedy = "make the service's user its owner, or give --data";
    return fault("open", `this user may not write to ${folder}`, remedy);
  }
  const files = [folder, ...(await readdir(folder, { recursive: true })).map((name) => path.join(folder, name))];
  const shared = await openToOthers(keys === null ? files : [...files, keys]);
  if (shared.length > 0) {
    const remedy = `run: chmod go= ${shared.join(" ")}`;
    return fault("weak", `users other than the owner have access to ${shared.join(", ")}`, remedy);
  }
  const lost = isShared ? null : await lostPart(folder);
  if (lost) return fault("open", lost.fact, lost.remedy);
  const user = await holderOfLock(path.join(folder, "lock"));
  const inUse = user === null ? "no service uses it now" : `process ${user} uses it`;
  return { layer: "data folder", state: "held", proof: `${folder}, writable, closed to other users; ${inUse}` };
}

async function examineMissing(folder: string): Promise<Finding> {
  const parent = path.dirname(path.resolve(folder));
  const proof = `${folder} does not exist yet`;
  if (!(await stat(parent).catch(() => null)))
    return fault("open", `${proof}, and neither does ${parent}`, missingParent(parent));
  if (await mayWrite(parent))
    return { layer: "data folder", state: "held", proof: `${proof}; the first start creates it` };
  const remedy = "create it for the service's user, or give --data";
  return fault("open", `${proof}, and this user may not create it in ${parent}`, remedy);
}

/** Returns what a start would refuse. */
async function lostPart(folder: string): Promise<LostPart | null> {
  try {
    return await findLostPart(folder, folder);
  } catch (error) {
    return { fact: (error as Error).message, remedy: "run the doctor as the service's user" };
  }
}

function fault(state: "weak" | "open", proof: string, remedy: string): Finding {
  return { layer: "data folder", state, proof, remedy };
}

async function mayWrite(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function openToOthers(files: readonly string[]): Promise<string[]> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return files.filter((_, index) => ((stats[index]?.mode ?? 0) & OTHERS) !== 0);
}

/** Returns the process that locks a file, by the kernel's list (proc_locks(5)). Trying the lock could make a start fail. */
async function holderOfLock(file: string): Promise<number | null> {
  const found: Stats | null = await stat(file).catch(() => null);
  const locks = await readFile("/proc/locks", "latin1").catch(() => "");
  const line = locks.split("\n").find((each) => found && each.includes(`:${found.ino} `) && each.includes(" WRITE "));
  return line === undefined ? null : Number(/WRITE\s+(\d+)/.exec(line)![1]);
}
