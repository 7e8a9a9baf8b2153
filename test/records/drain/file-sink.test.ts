import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, it } from "node:test";

import { FileSink } from "../../../src/records/drain/file-sink.ts";

const folder = mkdtempSync(path.join(tmpdir(), "file-sink-"));
after(() => rmSync(folder, { recursive: true }));

it("a named pipe is refused, with and without a reader, and neither its open nor a write waits", async () => {
  const pipe = path.join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const sink = new FileSink(pipe);
  await assert.rejects(sink.deliver(Buffer.from("{}\n")), /ENXIO/);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  await assert.rejects(sink.deliver(Buffer.from("{}\n")), /it is not a regular file; use stdout and a pipe instead/);
  closeSync(reader);
  await sink.close();
});
