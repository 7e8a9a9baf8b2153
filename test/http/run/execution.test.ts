import assert from "node:assert/strict";
import type { Readable } from "node:stream";
import { it } from "node:test";
import { setImmediate } from "node:timers/promises";

import type { Guest } from "../../../src/containers/guest/guest.ts";
import { Execution } from "../../../src/http/run/execution.ts";
import type { RunTrace } from "../../../src/http/run/run-trace.ts";
import { DATA_FRAME_COST_BYTES } from "../../../src/wire/messages.ts";
import { SILENT } from "./silent-observer.ts";

/** Creates a run whose head has arrived. Returns its body, and the number of bytes granted to its guest. */
async function streaming(): Promise<{ execution: Execution; body: Readable; granted: () => number }> {
  let granted = 0;
  const guest = { inFlight: { grant: (_: number, bytes: number) => void (granted += bytes) } } as unknown as Guest;
  const execution = new Execution(SILENT, {} as RunTrace);
  execution.begin(guest, 1);
  execution.head({ status: 200, headers: [] });
  const outcome = await execution.outcome;
  assert.ok("body" in outcome);
  return { execution, body: outcome.body, granted: () => granted };
}

it("an unread body is granted no further bytes, however small its pieces are", async () => {
  const { execution, body, granted } = await streaming();
  for (let piece = 0; piece < 100; piece++) {
    execution.data(Buffer.from("x"));
    await setImmediate();
  }
  assert.equal(granted(), 0);
  assert.equal((body.read() as Buffer).length, 100);
  assert.equal(body.read(), null);
  assert.equal(granted(), 100 * (1 + DATA_FRAME_COST_BYTES), "bytes that were read are granted again");
});

it("a small piece of a body does not keep its whole chunk in memory", async () => {
  const { execution, body } = await streaming();
  const chunk = Buffer.alloc(65_536, "x");
  execution.data(chunk.subarray(9, 10));
  const piece = body.read() as Buffer;
  assert.equal(piece.toString(), "x");
  assert.ok(piece.buffer.byteLength < 1_024, `${piece.buffer.byteLength} bytes are in memory for one byte`);
  execution.data(chunk.subarray(9));
  assert.equal((body.read() as Buffer).buffer, chunk.buffer, "a large part of a chunk is not copied");
});
