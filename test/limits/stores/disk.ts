import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";

import type { EmbeddedLimitStore, EmbeddedStoreOptions } from "../../../src/limits/stores/embedded.ts";

/**
 * Replaces the file system for the store, and counts the operations that would change a disk.
 *
 * Each operation can fail, and each can be the last one: then nothing more reaches the disk, as after `kill -9`. The disk also
 * models what a loss of power may leave. A file has its synced bytes, all bytes, or its full length with fewer bytes. A folder
 * has its synced names, or all names.
 */

/** A change of the disk, or a sync. */
export interface Operation {
  readonly kind: "create" | "write" | "truncate" | "sync" | "rename" | "remove";
  readonly path: string;
}

/** A fault that replaces a change: a system error, or the end of the process before the change or in the middle of it. */
export type Fault = { error: string } | "die" | "die in the middle";

export const SECTOR_BYTES = 512;

/** A file, whatever its name. */
class File {
  /** The content that a loss of power always preserves, and below it the content that processes see until then. */
  durable: Buffer = Buffer.alloc(0);
  content: Buffer = Buffer.alloc(0);
}

class Disk {
  /** Returns the fault of a change, called with the operation and its number, from 0. */
  fault: (operation: Operation, number: number) => Fault | undefined = () => undefined;
  operations: Operation[] = [];
  dead = false;
  readonly #files = new Map<string, File>();
  #durableNames = new Map<string, File>();
  readonly #descriptors = new Map<number, string>();

  /** Starts again with the files of a folder that no process has open. */
  reset(folder: string): void {
    this.#descriptors.clear();
    this.#files.clear();
    for (const name of real.readdirSync(folder)) {
      const file = new File();
      file.content = real.readFileSync(path.join(folder, name));
      file.durable = file.content;
      this.#files.set(path.join(folder, name), file);
    }
    this.#durableNames = new Map(this.#files);
    this.fault = () => undefined;
    this.operations = [];
    this.dead = false;
  }

  /** Performs a change or throws its fault. @returns whether the change must be cut in the middle. */
  change(kind: Operation["kind"], target: string): boolean {
    if (this.dead) throw systemError("EIO", "dead");
    const operation = { kind, path: target };
    const fault = this.fault(operation, this.operations.push(operation) - 1);
    if (fault === undefined) return false;
    if (fault !== "die" && fault !== "die in the middle") throw systemError(fault.error, kind);
    this.dead = true;
    if (fault === "die in the middle" && kind === "write") return true;
    throw systemError("EIO", "dead");
  }

  opened(descriptor: number, target: string, writing: boolean): void {
    this.#descriptors.set(descriptor, target);
    if (writing && !this.#files.has(target)) this.#files.set(target, new File());
  }

  pathOf(descriptor: number): string {
    return this.#descriptors.get(descriptor) ?? "";
  }

  closed(descriptor: number): void {
    this.#descriptors.delete(descriptor);
  }

  changed(target: string): void {
    const file = this.#files.get(target);
    if (file) file.content = real.readFileSync(target);
  }

  synced(target: string): void {
    const file = this.#files.get(target);
    if (file) file.durable = file.content;
    else this.#durableNames = new Map(this.#files);
  }

  renamed(from: string, to: string): void {
    this.#files.set(to, this.#files.get(from)!);
    this.#files.delete(from);
    for (const [descriptor, target] of this.#descriptors) if (target === from) this.#descriptors.set(descriptor, to);
  }

  removed(target: string): void {
    this.#files.delete(target);
  }

  /** Yields the possible contents after a loss of power now, by file name. */
  *afterPowerLoss(): Generator<Map<string, Buffer>> {
    for (const names of [this.#durableNames, this.#files]) {
      for (const contentOf of CONTENTS) {
        yield new Map([...names].map(([name, file]) => [path.basename(name), contentOf(file)]));
      }
    }
  }
}

/** The possible contents of a file after a loss of power. */
const CONTENTS: ((file: File) => Buffer)[] = [
  ({ durable }) => durable,
  ({ content }) => content,
  ({ durable, content }) => content.subarray(0, Math.ceil((durable.length + content.length) / 2)),
  ({ durable, content }) => zeroedFrom(content, durable.length),
  // Each sector reaches the disk whole or not at all.
  ({ durable, content }) => zeroedFrom(content, (Math.floor(durable.length / SECTOR_BYTES) + 1) * SECTOR_BYTES),
];

function zeroedFrom(content: Buffer, from: number): Buffer {
  const zeroed = Buffer.from(content);
  zeroed.fill(0, Math.min(from, zeroed.length));
  return zeroed;
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall });
}

const real = { ...fs, promises: { ...fs.promises } };

export const disk: Disk = new Disk();

function isWriting(flags: unknown): boolean {
  return typeof flags === "string" && flags !== "r";
}

Object.assign(fs, {
  openSync: (target: string, flags?: string, mode?: number): number => {
    if (isWriting(flags) && !real.existsSync(target)) disk.change("create", target);
    const descriptor = real.openSync(target, flags ?? "r", mode);
    disk.opened(descriptor, target, isWriting(flags));
    return descriptor;
  },
  writeSync: (descriptor: number, bytes: Buffer, offset: number, length: number, position: number | null): number => {
    const target = disk.pathOf(descriptor);
    if (target === "") return real.writeSync(descriptor, bytes, offset, length, position);
    const cut = disk.change("write", target);
    const written = real.writeSync(descriptor, bytes, offset, cut ? Math.ceil(length / 2) : length, position);
    disk.changed(target);
    if (cut) throw systemError("EIO", "dead");
    return written;
  },
  ftruncateSync: (descriptor: number, length: number): void => {
    disk.change("truncate", disk.pathOf(descriptor));
    real.ftruncateSync(descriptor, length);
    disk.changed(disk.pathOf(descriptor));
  },
  fdatasyncSync: (descriptor: number): void => {
    disk.change("sync", disk.pathOf(descriptor));
    disk.synced(disk.pathOf(descriptor));
  },
  fsyncSync: (descriptor: number): void => {
    disk.change("sync", disk.pathOf(descriptor));
    disk.synced(disk.pathOf(descriptor));
  },
  fdatasync: (descriptor: number, done: (error: Error | null) => void): void => {
    const target = disk.pathOf(descriptor);
    try {
      disk.change("sync", target);
    } catch (error) {
      setImmediate(done, error as Error);
      return;
    }
    setImmediate(() => {
      if (!disk.dead) disk.synced(target);
      done(disk.dead ? systemError("EIO", "dead") : null);
    });
  },
  closeSync: (descriptor: number): void => {
    disk.closed(descriptor);
    real.closeSync(descriptor);
  },
  unlinkSync: (target: string): void => {
    disk.change("remove", target);
    real.unlinkSync(target);
    disk.removed(target);
  },
  rmSync: (target: string, options?: fs.RmOptions): void => {
    if (real.existsSync(target)) disk.change("remove", target);
    real.rmSync(target, options);
    disk.removed(target);
  },
});

/** Each change takes one turn of the event loop, so that the order of events is the same in every test run. */
async function later<T>(change: () => T): Promise<T> {
  await new Promise(setImmediate);
  return change();
}

Object.assign(fs.promises, {
  open: (target: string, flags: string, mode?: number) =>
    later(() => {
      const descriptor = fs.openSync(target, flags, mode);
      return {
        appendFile: (bytes: Buffer) => later(() => fs.writeSync(descriptor, bytes, 0, bytes.length, null)),
        sync: () => later(() => fs.fsyncSync(descriptor)),
        close: () => later(() => fs.closeSync(descriptor)),
      };
    }),
  rename: (from: string, to: string) =>
    later(() => {
      disk.change("rename", to);
      real.renameSync(from, to);
      disk.renamed(from, to);
    }),
  rm: (target: string, options?: fs.RmOptions) => later(() => fs.rmSync(target, options)),
});
syncBuiltinESMExports();

// Imported here, because the store takes its file functions from `node:fs` when it is loaded.
const embedded = await import("../../../src/limits/stores/embedded.ts");

export function openStore(folder: string, options: EmbeddedStoreOptions): Promise<EmbeddedLimitStore> {
  return embedded.EmbeddedLimitStore.open(folder, options);
}
