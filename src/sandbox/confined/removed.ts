import { readdirSync, realpathSync, statSync } from "node:fs";

import type { Identity } from "../privilege.ts";
import { BLOCK_BYTES } from "./disk.ts";
import { hasRemovedMapping, type Mappings, readMappings } from "./mappings.ts";
import { type OpenFile, readAs } from "./read-as.ts";
import { ThreadTime } from "./thread-time.ts";

/** What it costs to have a stub become the guest's user: the start of a process, and its end. */
const STUB_MS = 4;

export interface RemovedUse {
  readonly bytes: number;
  /** Processor time that it took. */
  readonly costMs: number;
}

/**
 * What a guest has removed from its folder and still holds: no folder shows it.
 *
 * Files that it holds open count with their size. A file that is mapped and removed counts as more than any limit: the
 * kernel does not report its size, and Node itself never does that.
 *
 * The kernel shows both to the guest's own user, and to a process with CAP_SYS_PTRACE (proc_pid_fd(5)), which a container's
 * root does not have. Such a root has a stub become the guest's user, look, and report.
 */
export class RemovedFiles {
  readonly #pid: number;
  readonly #identity: Identity | null;
  readonly #stub: string;
  readonly #folder: string;

  /**
   * @param identity of the guest, if it is not that of this process.
   * @param stub the file of the program that executes plans.
   * @param folder the folder that the guest may write to.
   */
  constructor(pid: number, identity: Identity | null, stub: string, folder: string) {
    this.#pid = pid;
    this.#identity = identity;
    this.#stub = stub;
    this.#folder = realpathSync(folder);
  }

  async use(): Promise<RemovedUse> {
    const time = new ThreadTime();
    time.start();
    const own = this.#look();
    time.stop();
    if (own !== null) return { bytes: own, costMs: time.totalMs };
    if (!this.#identity) return { bytes: 0, costMs: time.totalMs };
    const { files, mappings } = await readAs(this.#identity, this.#stub, this.#pid, fileNames(this.#pid));
    return { bytes: this.#sum(files, mappings), costMs: time.totalMs + STUB_MS };
  }

  /** @returns null if this process may not look: descriptors and mappings are a right each. */
  #look(): number | null {
    const mappings = readMappings(this.#pid);
    if (!mappings) return null;
    const files: OpenFile[] = [];
    for (const name of fileNames(this.#pid)) {
      const file = openFile(`/proc/${this.#pid}/fd/${name}`);
      if (file === "refused") return null;
      if (file !== "none") files.push(file);
    }
    return this.#sum(files, mappings);
  }

  #sum(files: readonly OpenFile[], { text }: Mappings): number {
    if (text === null || hasRemovedMapping(text, this.#folder)) return Infinity;
    const sizes = new Map(files.filter(({ isRemoved }) => isRemoved).map(({ key, bytes }) => [key, bytes]));
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

function fileNames(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function openFile(link: string): OpenFile | "refused" | "none" {
  try {
    const found = statSync(link);
    const { dev, ino, nlink, blocks } = found;
    return found.isFile() ? { key: `${dev}:${ino}`, isRemoved: nlink === 0, bytes: blocks * BLOCK_BYTES } : "none";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "refused" : "none";
  }
}
