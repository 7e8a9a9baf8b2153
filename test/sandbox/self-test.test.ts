import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

import { proveWall } from "../../src/sandbox/self-test.ts";

/** A process of its own, with no wall around it. */
async function runOutside(source: string): Promise<unknown> {
  // Ended at once: what got through keeps its sockets open.
  const tell = "(value) => process.stdout.write(JSON.stringify(value), () => process.exit())";
  const program = `(async () => { ${source} })().then(${tell})`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", program]);
  return JSON.parse(stdout);
}

/** A wall that stops all but one of the attacks. */
async function runWithDevices(source: string): Promise<unknown> {
  const outcomes = (await runOutside(source)) as Record<string, string>;
  const stopped = Object.keys(outcomes).map((what) => [what, "stopped"]);
  return { ...Object.fromEntries(stopped), "list devices": "got through" };
}

async function fail(): Promise<never> {
  throw new Error("the guest is gone");
}

it("every attack that gets through is named, where there is no wall", async () => {
  await assert.rejects(proveWall(runOutside, process.execPath), ({ message }: Error) => {
    assert.match(message, /^the sandbox does not hold: /);
    for (const attack of [
      "read a file of the host",
      "read the host's users",
      "list processes",
      "list devices",
      "signal a process of the host",
      "connect over IPv4",
      "connect to an abstract socket",
      "send a datagram",
    ]) {
      assert.ok(message.includes(`${attack} (got through)`), `${attack} is not in ${message}`);
    }
    return true;
  });
});

it("one attack that gets through is enough, and it alone is named", async () => {
  await assert.rejects(proveWall(runWithDevices, process.execPath), {
    message: "the sandbox does not hold: list devices (got through)",
  });
});

it("a guest that cannot be attacked proves nothing: its error is the outcome", async () => {
  await assert.rejects(proveWall(fail, process.execPath), /the guest is gone/);
});
