import { setTimeout } from "node:timers/promises";

import { diskUse } from "./disk.ts";
import type { RemovedFiles } from "./removed.ts";

/** How often the folder of a guest is looked at, unless there is too much to look at. */
const ROUND_MS = 100;
/** Looking may take this share of one processor, however many guests make however many files. */
const SHARE = 0.1;

export interface WatchedFolder {
  readonly folder: string;
  /** What it uses of the disk besides. */
  readonly removed: RemovedFiles;
  /** Called once, when the guest has used more than it may. */
  readonly exceeded: () => void;
}

/**
 * Watches the temporary folders of all guests, one after the other. The kernel bounds each file by itself, and nothing
 * bounds all of them together: between two looks a guest can go beyond its limit.
 */
export class DiskWatch {
  readonly #limitBytes: number;
  readonly #watched: Set<WatchedFolder> = new Set();
  #running = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** @returns what ends it. */
  watch(watched: WatchedFolder): () => void {
    this.#watched.add(watched);
    if (!this.#running) void this.#run();
    return () => this.#watched.delete(watched);
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#watched.size > 0) {
      const startMs = performance.now();
      for (const each of this.#watched) await this.#look(each);
      const tookMs = performance.now() - startMs;
      await setTimeout(Math.max(ROUND_MS, tookMs / SHARE), undefined, { ref: false });
    }
    this.#running = false;
  }

  async #look(watched: WatchedFolder): Promise<void> {
    const used = await diskUse(watched.folder, this.#limitBytes, await watched.removed.use());
    // It may have ended meanwhile.
    if (used > this.#limitBytes && this.#watched.delete(watched)) watched.exceeded();
  }
}
