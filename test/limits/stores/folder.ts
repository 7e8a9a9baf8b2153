import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { EmbeddedLimitStore, type EmbeddedStoreOptions } from "../../../src/limits/stores/embedded.ts";

/** A clock that a test sets. */
export class HandClock {
  time: number;

  constructor(time = 1_800_000_000_000) {
    this.time = time;
  }

  now(): number {
    return this.time;
  }
}

/** An error handler for stores in which nothing may fail in the background. */
export function failOnError(error: unknown): void {
  assert.ifError(error);
}

/** Calls `body` with an empty folder, and removes the folder. */
export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "caisson-limits-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Calls `body` with an open store, and closes the store. */
export async function withStore(
  folder: string,
  options: Partial<EmbeddedStoreOptions>,
  body: (store: EmbeddedLimitStore) => Promise<void>,
): Promise<void> {
  const store = await EmbeddedLimitStore.open(folder, { fsync: false, ...options });
  try {
    await body(store);
  } finally {
    await store.close();
  }
}
