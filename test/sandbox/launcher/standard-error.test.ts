import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { it } from "node:test";

const PROGRAM = path.join(import.meta.dirname, "standard-error.ts");

// Node resets the flags of its standard streams when it ends. With one that it shares with its parent, it makes writes of the parent block.
it("a launcher that ends does not make the writes of the service to its log block", async () => {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ["ignore", "pipe", "pipe"] });
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(printed.trim(), "[false,false]", errors);
});
