import { readdir, stat } from "node:fs/promises";

import { guestPlan } from "../plan/guest-plan.ts";
import { NOTES, playWhole } from "../plan/play.ts";
import { type Memory, type Step, stepsFor, text } from "../plan/steps.ts";
import type { Identity } from "../privilege.ts";
import type { Architecture } from "../system-calls.ts";
import { BLOCK_BYTES } from "./disk.ts";

/** A file that a guest holds open. */
interface OpenFile {
  /** Which it is: one that is open twice is one. */
  readonly key: string;
  readonly isRemoved: boolean;
  readonly bytes: number;
}

/** As many as fit into one plan. */
const AT_ONCE = 90;
/** A guest whose descriptors look the same as before is asked for again after so long. */
const AGAIN_MS = 2_000;
const CLOSE_FROM = 4;

/**
 * What a guest holds open and has removed: no folder tells of it.
 *
 * Its descriptors may be looked at by its own user, or with CAP_SYS_PTRACE (proc_pid_fd(5)), which a container's root does
 * not have. Such a root has a player become the guest's user, ask, and say what it was told. That costs a process, and is
 * done only when something may have changed.
 */
export class RemovedFiles {
  readonly #pid: number;
  readonly #identity: Identity | null;
  readonly #player: string;
  #names = "";
  #askedMs = -Infinity;
  /** Whether it held any file at all when it was asked last: that may grow, and be removed, unseen. */
  #heldFiles = false;

  /** @param identity of the guest, where it is not this process's own. */
  constructor(pid: number, identity: Identity | null, player: string) {
    this.#pid = pid;
    this.#identity = identity;
    this.#player = player;
  }

  /** In bytes of the disk. Files that it did not hold when it was asked last may be missing for two seconds. */
  async use(): Promise<number> {
    const names = await readdir(`/proc/${this.#pid}/fd`).catch(() => []);
    const files = await Promise.all(names.map((name) => openFile(`/proc/${this.#pid}/fd/${name}`)));
    const told = files.includes("refused") && this.#identity ? await this.#ask(this.#identity, names) : files;
    const removed = told.filter((file) => file !== null && file !== "refused").filter(({ isRemoved }) => isRemoved);
    const sizes = new Map(removed.map(({ key, bytes }) => [key, bytes]));
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  async #ask(identity: Identity, names: readonly string[]): Promise<OpenFile[]> {
    const nowMs = performance.now();
    const isSame = names.join() === this.#names && !this.#heldFiles;
    if (isSame && nowMs - this.#askedMs < AGAIN_MS) return [];
    this.#names = names.join();
    this.#askedMs = nowMs;
    const found: OpenFile[] = [];
    for (let first = 0; first < names.length; first += AT_ONCE) {
      const plan = lookPlan(this.#pid, identity, names.slice(first, first + AT_ONCE));
      // Where no process can be started now, the next look comes soon.
      const { said } = await playWhole(this.#player, plan).catch(() => ({ said: Buffer.alloc(0) }));
      for (let at = 0; at + STAT.bytes <= said.length; at += STAT.bytes) found.push(...parseAnswer(said.subarray(at)));
    }
    this.#heldFiles = found.length > 0;
    return found;
  }
}

async function openFile(link: string): Promise<OpenFile | "refused" | null> {
  try {
    const found = await stat(link);
    const { dev, ino, nlink, blocks } = found;
    return found.isFile() ? { key: `${dev}:${ino}`, isRemoved: nlink === 0, bytes: blocks * BLOCK_BYTES } : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "refused" : null;
  }
}

/** Where in `struct stat` its members lie (arch/x86/include/uapi/asm/stat.h, include/uapi/asm-generic/stat.h of Linux). */
const STATS = {
  x64: { bytes: 144, mode: 24, links: 16, blocks: 64 },
  arm64: { bytes: 128, mode: 16, links: 20, blocks: 64 },
} as const;
const STAT = STATS[process.arch as Architecture];
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;

/** Becomes the guest's user, asks what is behind each descriptor, and writes every answer down. */
function lookPlan(pid: number, identity: Identity, names: readonly string[]): { steps: Step[] } {
  const architecture = process.arch as Architecture;
  const step = stepsFor(architecture);
  const answer: Memory = { bytes: Buffer.alloc(STAT.bytes) };
  const workingFolder = `/proc/${pid}/fd`;
  const become = guestPlan({ architecture, closeFrom: CLOSE_FROM, identity, diesWithParent: true, workingFolder });
  const looks = names.flatMap((name) => [
    // What is gone leaves the answer of the one before, which then counts once all the same.
    step("newfstatat", [AT_FDCWD, text(name), answer, 0]),
    step("write", [NOTES, answer, STAT.bytes]),
  ]);
  const all = [...looks, step("exit_group", [0])].map((each) => ({ ...each, mayFail: true }));
  return { steps: [...become.steps, ...all] };
}

const AT_FDCWD = -100;

function parseAnswer(answer: Buffer): OpenFile[] {
  if ((answer.readUInt32LE(STAT.mode) & S_IFMT) !== S_IFREG) return [];
  const key = `${answer.readBigUInt64LE(0)}:${answer.readBigUInt64LE(8)}`;
  const isRemoved = answer.readUInt32LE(STAT.links) === 0;
  return [{ key, isRemoved, bytes: Number(answer.readBigUInt64LE(STAT.blocks)) * BLOCK_BYTES }];
}
