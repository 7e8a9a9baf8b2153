import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { it } from "node:test";

const MODULE = path.join(import.meta.dirname, "../src/young-generation.ts");

it("the young generation of a busy process stays within its limit, which V8 exceeds without it", () => {
  // In separate processes, because it changes V8's flags and fills the heap.
  const [limited, free] = [mostBytes("limitYoungGeneration(8 * 2 ** 20);"), mostBytes("")];
  assert.ok(limited >= 4 * 2 ** 20, `${limited} bytes`);
  assert.ok(2 * limited <= free, `${limited} and ${free} bytes`);
});

/** Returns the largest young generation of a process that creates objects, of which some live for a while. */
function mostBytes(before: string): number {
  const program = `
    import { getHeapSpaceStatistics } from "node:v8";
    import { limitYoungGeneration } from ${JSON.stringify(MODULE)};
    ${before}
    let [kept, most] = [[], 0];
    for (let turn = 0; turn < 2_000; turn++) {
      for (let at = 0; at < 5_000; at++) {
        kept.push({ at, text: {} });
        if (kept.length === 30_000) kept = [];
      }
      most = Math.max(most, getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
      await new Promise(setImmediate);
    }
    console.log(most);
  `;
  const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  assert.equal(stderr, "");
  return Number(stdout);
}
