import assert from "node:assert/strict";
import { after, before, it } from "node:test";

import { NO_WALL, type Service, startService } from "./service.ts";

const MIB = 2 ** 20;

let service: Service;

before(async () => {
  service = await startService(NO_WALL);
});
after(() => service.stop());

it("a guest frees the bytes of the body of a run when the run ends, before V8 collects anything", async () => {
  const code = `(context) => require("node:v8").getHeapStatistics().external_memory + 0 * context.body.length`;
  assert.equal((await service.request("PUT", "/api/tasks/acme/texts", { json: { code } })).status, 201);
  const headers = { "content-type": "text/plain" };
  const held: number[] = [];
  for (let run = 0; run < 8; run++) {
    const body = "x".repeat(4 * MIB - 100);
    held.push((await service.request("POST", "/api/run/acme/texts", { headers, body })).json() as number);
  }
  // The texts themselves remain until then.
  assert.ok(Math.max(...held) < 48 * MIB, `${held.join(", ")} bytes outside of the heap`);
});
