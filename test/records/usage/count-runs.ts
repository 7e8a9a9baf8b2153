/**
 * Counts runs in a folder until it has counted a number of them, and then ends as its parent requests: `close` closes the
 * counts, `wait` waits to be killed. Prints `<admitted> <flushed>`: the admitted runs, and those that are on the disk for
 * certain.
 */
import type { UsageCell } from "../../../src/records/usage/usage.ts";
import { openUsage } from "./folder.ts";

const [folder, count, ending] = process.argv.slice(2);
const usage = openUsage(folder!, { flushMs: 100 });
const open: UsageCell[] = [];
const total = Number(count);
let admitted = 0;
let flushed = 0;

while (admitted < total) {
  for (let at = 0; at < 500 && admitted < total; at++) {
    const token = `token-${admitted % 50}`;
    const subject = { container: `c${(admitted * 7) % 997}`, task: null, token, family: `family-${admitted % 3}` };
    open.push(usage.admitted(subject, Date.now()));
    admitted++;
    // Some runs are in flight when the process ends.
    if (open.length > 50) usage.ended(open.splice((admitted * 31) % 50, 1)[0]!, "ok", admitted % 40, 1);
  }
  const before = admitted;
  if (admitted % 2_000 === 0 || admitted === total) {
    await usage.flush();
    flushed = before;
  }
  process.stdout.write(`${admitted} ${flushed}\n`);
  await new Promise((resolve) => void setImmediate(resolve));
}
if (ending === "close") await usage[Symbol.asyncDispose]();
else process.stdin.resume();
