// Opens a sandbox in a launcher, closes it, and prints whether writes to the standard error of this process block, before and after.
import { readFileSync } from "node:fs";

import { openLauncher } from "../../../src/sandbox/launcher/launcher.ts";
import { SANDBOX_OPTIONS } from "../../suites/sandbox.ts";

const O_NONBLOCK = 0o4000;

function blocks(): boolean {
  const flags = /^flags:\s+(\d+)/m.exec(readFileSync("/proc/self/fdinfo/2", "latin1"))![1]!;
  return (Number.parseInt(flags, 8) & O_NONBLOCK) === 0;
}

// The first use of the stream makes its descriptor non-blocking.
process.stderr.write("");
const before = blocks();
const sandbox = await openLauncher(SANDBOX_OPTIONS, () => {});
await sandbox.close();
console.log(JSON.stringify([before, blocks()]));
process.exit();
