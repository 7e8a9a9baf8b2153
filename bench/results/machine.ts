import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { availableParallelism, release, totalmem } from "node:os";
import { promisify } from "node:util";

/** The machine of a measurement, and what ran on it. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly kernel: string;
  readonly node: string;
}

export interface Commit {
  /** The id of the commit; null outside a checkout. */
  readonly commit: string | null;
  /** Whether files differ from the commit. */
  readonly isChanged: boolean;
}

export async function thisMachine(): Promise<Machine> {
  const cpuinfo = await readFile("/proc/cpuinfo", "latin1").catch(() => "");
  return {
    processor: /^model name\s*: (.*)$/m.exec(cpuinfo)?.[1]?.trim() ?? process.arch,
    cores: availableParallelism(),
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    kernel: `Linux ${release()}`,
    node: process.versions.node,
  };
}

/** Returns the commit of the checkout, in which the files of the results may have changed. */
export async function thisCommit(): Promise<Commit> {
  try {
    const commit = await git("rev-parse", "HEAD");
    const changed = await git("status", "--porcelain", "--", ":/src", ":/bench/**/*.ts", ":/package-lock.json");
    return { commit, isChanged: changed !== "" };
  } catch {
    return { commit: null, isChanged: false };
  }
}

async function git(...words: readonly string[]): Promise<string> {
  return (await promisify(execFile)("git", words, { cwd: import.meta.dirname })).stdout.trim();
}
