import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { it } from "node:test";

import * as fc from "fast-check";

import { parseStat, processStatus } from "../../src/sandbox/proc.ts";

/** Returns a line as in proc(5): pid, title, state, and then numbers. From the fourth field on, each number is its position. */
function stat(title: string, state: string): string {
  const numbers = Array.from({ length: 49 }, (_, index) => index + 4);
  return `17 (${title}) ${state} ${numbers.join(" ")}\n`;
}

const STATUS = "Name:\tnode\nVmPTE:\t    100 kB\nVmSwap:\t     20 kB\nThreads:\t20\n";

it("parseStat reads user and system time, niceness, threads and memory from their fields", () => {
  // Fields 14 and 15 in ticks of 10 ms, fields 19 and 20, field 24 in pages of 4 KiB.
  const memoryBytes = 24 * 4_096 + 100 * 1_024 + 20 * 1_024 + 20 * 16_384;
  const expected = {
    pid: 17,
    title: "node",
    state: "S",
    cpuMs: (14 + 15) * 10,
    niceness: 19,
    threads: 20,
    memoryBytes,
  };
  const whole = stat("node", "S").replace(" 14 15 ", " 140 150 ");
  assert.deepEqual(parseStat(stat("node", "S"), whole, STATUS), { ...expected, processCpuMs: (140 + 150) * 10 });
});

it("a title with parentheses and blanks cannot forge other fields", () => {
  const evil = fc.string({ maxLength: 15, unit: fc.constantFrom(")", "(", " ", "R", "0", "\n", "x") });
  fc.assert(
    fc.property(evil, fc.constantFrom("R", "S", "D"), (title, state) => {
      const parsed = parseStat(stat(title, state), stat(title, state), STATUS);
      assert.deepEqual([parsed.title, parsed.state, parsed.threads], [title, state, 20]);
    }),
  );
});

it("a title with other line separators cannot forge the size of page tables", () => {
  const line = stat("x", "S");
  for (const title of ["\rVmPTE:\t0 kB\r", "\u2028VmPTE:\t0 kB", "\\nVmPTE:\t0 kB"]) {
    const forged = STATUS.replace("node", title);
    assert.equal(parseStat(line, line, forged).memoryBytes, parseStat(line, line, STATUS).memoryBytes);
  }
});

it("processStatus returns the kernel's values of a running process, and null for an ended process", async () => {
  const child = spawn(
    process.execPath,
    ["-e", "process.title = ') R 1 2 3'; console.log(1); setInterval(() => {}, 1e4)"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exited = once(child, "exit");
  try {
    await once(child.stdout, "data");
    const status = processStatus(child.pid!);
    assert.equal(status?.title, ") R 1 2 3");
    assert.equal(status.pid, child.pid);
    assert.match(status.state, /^[RSD]$/);
    assert.ok(status.threads > 1 && status.memoryBytes > 2 ** 20);
    const threads = /^Threads:\s+(\d+)$/m.exec(await readFile(`/proc/${child.pid}/status`, "utf8"))![1];
    assert.equal(String(status.threads), threads);
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
  assert.equal(processStatus(child.pid!), null);
});
