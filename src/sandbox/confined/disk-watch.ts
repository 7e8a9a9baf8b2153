import { setTimeout } from "node:timers/promises";

import { type DiskUse, diskUse } from "./disk.ts";
import type { RemovedFiles } from "./removed.ts";

/** How often the folder of a guest is looked at, unless there is too much to look at. */
const ROUND_MS = 100;
/**
 * Looking may take about this share of one processor, however many guests make however many files. Each guest has as much
 * of it as the others, so that none who makes many files keeps the watch from those who make few, and what these leave.
 */
const SHARE = 0.1;

export interface WatchedFolder {
  readonly folder: string;
  /** What it uses of the disk besides. */
  readonly removed: RemovedFiles;
  /** Does something while the guest is stopped. */
  readonly whileStopped: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called once, when the guest has used more than it may. */
  readonly exceeded: () => void;
}

/**
 * Watches the temporary folders of all guests. The kernel bounds each file by itself, and nothing bounds all of them
 * together: between two looks a guest can go beyond its limit.
 */
export class DiskWatch {
  readonly #limitBytes: number;
  /** With how long the latest look took, in milliseconds. */
  readonly #watched: Map<WatchedFolder, number> = new Map();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** @returns what ends it. */
  watch(watched: WatchedFolder): () => void {
    this.#watched.set(watched, 0);
    void this.#follow(watched);
    return () => this.#watched.delete(watched);
  }

  async #follow(watched: WatchedFolder): Promise<void> {
    for (;;) {
      const startMs = performance.now();
      await this.#look(watched);
      const tookMs = performance.now() - startMs;
      if (!this.#watched.has(watched)) return;
      this.#watched.set(watched, tookMs);
      await setTimeout(this.#waitMs(tookMs), undefined, { ref: false });
      if (!this.#watched.has(watched)) return;
    }
  }

  #waitMs(tookMs: number): number {
    const allMs = this.#watched.values().reduce((sum, each) => sum + each, 0);
    return Math.max(ROUND_MS, Math.min(allMs, tookMs * this.#watched.size) / SHARE);
  }

  async #look(watched: WatchedFolder): Promise<void> {
    const removed = await watched.removed.use();
    const use = (): Promise<DiskUse> => diskUse(watched.folder, this.#limitBytes, removed);
    let { bytes, isCertain } = await use();
    if (!isCertain && this.#watched.has(watched)) ({ bytes } = await watched.whileStopped(use));
    // It may have ended meanwhile.
    if (bytes > this.#limitBytes && this.#watched.delete(watched)) watched.exceeded();
  }
}
