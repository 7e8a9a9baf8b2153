import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

import { makeHome, NO_WALL, startService } from "./service.ts";

const skip = process.getuid!() === 0 ? false : "only root can start a service that becomes another user";

it("a service that root starts below a folder of root, such as /root, keeps its history", { skip }, async () => {
  const closed = await mkdtemp(path.join(tmpdir(), "caisson-closed-"));
  await chmod(closed, 0o700);
  await using open = await makeHome();
  const home = { ...open, data: path.join(closed, "data"), [Symbol.asyncDispose]: async () => {} };
  let outside: string | undefined;
  try {
    const first = await startService(NO_WALL, home);
    const run = (await first.run("closed", "throw new Error('kept')")).headers["caisson-run"]!;
    outside = /records of runs, usage and audit are in (\/var\/lib\/caisson\/[0-9a-f]{16}),/.exec(first.stderr())?.[1];
    assert.ok(outside, first.stderr());
    await first.issue({ containers: ["closed"] });
    await first.stop();
    const second = await startService(NO_WALL, home);
    try {
      const record = await second.request("GET", `/api/runs/closed/${run}`);
      assert.equal(record.status, 200, record.text);
      const usage = await second.request("GET", "/api/usage?by=container");
      assert.match(usage.text, /"threw":1/);
      const audit = await second.request("GET", "/api/audit");
      assert.match(audit.text, /token issued/);
      const health = await second.request("GET", "/healthz", { token: null });
      assert.equal((health.json() as { records?: object }).records, undefined);
    } finally {
      await second.stop();
    }
  } finally {
    await rm(closed, { recursive: true });
    if (outside) await rm(outside, { recursive: true });
  }
});
