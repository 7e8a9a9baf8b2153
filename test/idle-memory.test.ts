import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { it } from "node:test";

const MODULE = path.join(import.meta.dirname, "../src/idle-memory.ts");

it("a process that has grown gives its memory back when it is idle, and only then", () => {
  // In a separate process, because it changes V8's flags and fills the heap.
  const program = `
    import { setFlagsFromString } from "node:v8";
    import { releaseMemoryWhenIdle } from ${JSON.stringify(MODULE)};
    setFlagsFromString("--heap-growing-percent=300");
    releaseMemoryWhenIdle({ idleMs: 200 });
    const rss = () => process.memoryUsage.rss() / 2 ** 20;
    const work = () => Array.from({ length: 200_000 }, (_, at) => ({ at, text: "x" + at }));
    const first = rss();
    let busy = 0;
    // Longer where memory is slow: the heap grows with each collection that finds it too small.
    const startMs = performance.now();
    const ms = () => performance.now() - startMs;
    while (ms() < 1_500 || (busy < first + 110 && ms() < 20_000)) {
      work();
      busy = rss();
      await new Promise(setImmediate);
    }
    const giveUpMs = performance.now() + 20_000;
    while (rss() > busy - 64 && performance.now() < giveUpMs) await new Promise((next) => setTimeout(next, 100));
    console.log(JSON.stringify({ first, busy, idle: rss(), gc: typeof gc }));
  `;
  const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  assert.equal(stderr, "");
  const { first, busy, idle, gc } = JSON.parse(stdout) as Record<"first" | "busy" | "idle", number> & { gc: string };
  // While it worked, it was never idle.
  assert.ok(busy > first + 100, `${first} and ${busy} MiB`);
  assert.ok(idle < busy - 64, `${busy} and ${idle} MiB`);
  assert.equal(gc, "undefined");
});
