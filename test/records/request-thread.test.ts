import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";

import { RequestThread, ThreadError } from "../../src/records/request-thread.ts";

/** Starts a thread that serves `double`, `throw` and `end`. */
async function start(t: TestContext): Promise<RequestThread> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-thread-"));
  const program = path.join(folder, "program.ts");
  const serve = path.resolve("src/records/serve-requests.ts");
  await writeFile(
    program,
    `import { serveRequests } from ${JSON.stringify(serve)};
     serveRequests({
       double: (number: number) => 2 * number,
       throw: () => { throw Object.assign(new Error("it failed"), { code: "ENOSPC" }); },
       end: () => process.exit(1),
       crash: () => { setImmediate(() => { throw new Error("a bug"); }); return null; },
     });`,
  );
  const thread = new RequestThread(program, null);
  t.after(async () => {
    await thread.close();
    await rm(folder, { recursive: true });
  });
  return thread;
}

it("a thread fulfils the requests to each of its services", async (t) => {
  const thread = await start(t);
  await thread.ready;
  const double = thread.channel<number, number>("double");
  const replies = await Promise.all([1, 2, 3].map((number) => double.request(number)));
  assert.deepEqual(replies, [2, 4, 6]);
});

it("an error of a service is the fault of its request only", async (t) => {
  const thread = await start(t);
  await assert.rejects(thread.channel("throw").request(null), (error: unknown) => {
    assert.ok(error instanceof ThreadError);
    assert.deepEqual([error.message, error.code], ["it failed", "ENOSPC"]);
    return true;
  });
  assert.equal(await thread.channel("double").request(4), 8);
});

it("a thread that was lost fails its pending requests, and the next request starts it again", async (t) => {
  const thread = await start(t);
  const double = thread.channel<number, number>("double");
  const results = await Promise.allSettled([thread.channel("end").request(null), double.request(1)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(await double.request(2), 4);
  await thread.channel("crash").request(null);
  await assert.rejects(
    async () => {
      for (;;) await double.request(1);
    },
    { code: "THREAD_LOST" },
  );
  assert.equal(await double.request(3), 6);
});
