import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { EmbeddedLimitStore, type EmbeddedStoreOptions } from "../../../src/limits/stores/embedded.ts";

/** A clock that goes only when it is told to. */
export class HandClock {
  time: number;

  constructor(time = 1_800_000_000_000) {
    this.time = time;
  }

  now(): number {
    return this.time;
  }
}

/** For stores in which nothing may fail in the background. */
export function failOnError(error: unknown): void {
  assert.ifError(error);
}

/** Calls with an empty folder, and removes it. */
export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "caisson-limits-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Calls with an open store, and closes it. */
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
