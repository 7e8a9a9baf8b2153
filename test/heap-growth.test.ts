import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { it } from "node:test";

const MODULE = path.join(import.meta.dirname, "../src/heap-growth.ts");

it("the heap of a service may grow further from its first whole collection on, and Node's modules load at full speed before", () => {
  const program = `
    import { cachedDataVersionTag } from "node:v8";
    import { letHeapGrow } from ${JSON.stringify(MODULE)};
    const tag = cachedDataVersionTag();
    letHeapGrow();
    gc({ type: "minor" });
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    // V8 takes compiled code while the tag is the same.
    const before = cachedDataVersionTag() === tag;
    gc();
    while (cachedDataVersionTag() === tag) await new Promise(setImmediate);
    console.log(before);
  `;
  const words = ["--disable-warning=ExperimentalWarning", "--expose-gc", "--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", timeout: 60_000 });
  assert.deepEqual([stdout, stderr], ["true\n", ""]);
});
