import assert from "node:assert/strict";
import { closeSync, mkdirSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { charge } from "../../suites/limit-store.ts";
import { readOne } from "../read-one.ts";
import { failOnError, HandClock, inFolder, withStore } from "./folder.ts";

const FREE = 1_000_000;
const COPIES = 40;
const AT_ONCE = 20;
const KEYS = 7;
const charges = (key: number): ReturnType<typeof charge>[] => [charge(`key-${key}`, { month: FREE })];

/** Copies what a store gives for a copy, as a backup does. */
function copy(store: EmbeddedLimitStore, to: string): void {
  mkdirSync(to);
  for (const { name, descriptor, bytes } of store.openFiles()) {
    const content = Buffer.alloc(bytes);
    assert.equal(readSync(descriptor, content, 0, bytes, 0), bytes);
    closeSync(descriptor);
    writeFileSync(join(to, name), content);
  }
}

for (const fsync of [false, true]) {
  const title = `a copy of the open files${fsync ? " with fsync" : ""} has each count that was admitted before it, and none twice`;
  it(`${title}, while the store compacts`, async () => {
    await inFolder(async (folder) => {
      const clock = new HandClock();
      const store = await EmbeddedLimitStore.open(join(folder, "live"), {
        ...{ fsync, clock, onError: failOnError, compactAtBytes: 3_000 },
      });
      let [admitted, asked] = [0, 0];
      const copies: { to: string; least: number; most: number }[] = [];
      for (let at = 0; at < COPIES; at++) {
        const admissions = Array.from({ length: AT_ONCE }, async () => {
          clock.time += 1;
          await store.admit(charges(asked++ % KEYS));
          admitted++;
        });
        // At different turns of a batch and of a compaction.
        for (let turn = 0; turn < at % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        const [to, least] = [join(folder, `copy-${at}`), admitted];
        copy(store, to);
        copies.push({ to, least, most: asked });
        await Promise.all(admissions);
      }
      await store.close();
      for (const { to, least, most } of copies) {
        await withStore(to, { clock }, async (copied) => {
          let counted = 0;
          for (let key = 0; key < KEYS; key++) {
            counted += FREE - (await readOne(copied, charges(key)[0]!)).remaining.at(-1)!;
          }
          assert.ok(counted >= least && counted <= most, `${to}: ${counted} counted, ${least} to ${most} expected`);
        });
      }
    });
  });
}
