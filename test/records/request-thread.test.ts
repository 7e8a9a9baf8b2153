import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it, type TestContext } from "node:test";
import type { Worker } from "node:worker_threads";

import { RequestThread, ThreadError } from "../../src/records/request-thread.ts";

/** Starts a thread that serves `double`, `throw`, `end`, `crash`, `sleep` and `order`. */
async function start(t: TestContext, mostMs?: number): Promise<RequestThread> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-thread-"));
  const program = path.join(folder, "program.ts");
  const serve = path.resolve("src/records/serve-requests.ts");
  await writeFile(
    program,
    `import { serveRequests } from ${JSON.stringify(serve)};
     const names: string[] = [];
     serveRequests({
       double: (number: number) => 2 * number,
       throw: () => { throw Object.assign(new Error("it failed"), { code: "ENOSPC" }); },
       end: () => process.exit(1),
       crash: () => { setImmediate(() => { throw new Error("a bug"); }); return null; },
       sleep: (ms: number) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); return null; },
       order: (name: string) => { names.push(name); return names; },
     });`,
  );
  const thread = new RequestThread(() => program, { data: null, ...(mostMs === undefined ? {} : { mostMs }) });
  t.after(async () => {
    await thread.close();
    await rm(folder, { recursive: true });
  });
  return thread;
}

it("a thread fulfils the requests to each of its services", async (t) => {
  const thread = await start(t);
  await thread.load();
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

/** Returns the threads that this process starts from now on. */
function watchThreads(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const watch = (thread: Worker): void => void threads.push(thread);
  process.on("worker", watch);
  t.after(() => process.off("worker", watch));
  return threads;
}

it("a thread that was lost fails its request, and another thread fulfils those that wait", async (t) => {
  const thread = await start(t);
  const double = thread.channel<number, number>("double");
  const [ended, doubled] = await Promise.allSettled([thread.channel("end").request(null), double.request(1)]);
  assert.equal(ended.status, "rejected");
  assert.equal(ended.reason.code, "THREAD_LOST");
  assert.deepEqual(doubled, { status: "fulfilled", value: 2 });
});

it("a thread that is lost while it has no request is started again by the next one", async (t) => {
  const threads = watchThreads(t);
  const thread = await start(t);
  await thread.load();
  // The answer arrives, or the error of the thread does before it.
  await thread
    .channel("crash")
    .request(null)
    .catch(() => {});
  if (threads[0]!.threadId !== -1) await new Promise((resolve) => threads[0]!.once("exit", resolve));
  assert.equal(await thread.channel<number, number>("double").request(3), 6);
  assert.equal(threads.length, 2);
});

it("a program that cannot be loaded fails all requests with one thread, and later ones with another", async (t) => {
  const threads = watchThreads(t);
  const thread = new RequestThread(() => path.join(tmpdir(), "caisson-no-program.ts"), { data: null });
  t.after(() => thread.close());
  const requests = [1, 2, 3].map((number) => thread.channel("double").request(number));
  for (const result of await Promise.allSettled(requests)) assert.equal(result.status, "rejected");
  assert.equal(threads.length, 1);
  await thread.load();
  await assert.rejects(thread.channel("double").request(1), { code: "THREAD_LOST" });
  assert.equal(threads.length, 2);
});

it("urgent requests are done before those that wait already", async (t) => {
  const thread = await start(t);
  const order = thread.channel<string, string[]>("order");
  const urgent = thread.channel<string, string[]>("order", true);
  const all = await Promise.all([
    order.request("first"),
    order.request("second"),
    urgent.request("urgent 1"),
    urgent.request("urgent 2"),
  ]);
  assert.deepEqual(all[1], ["first", "urgent 1", "urgent 2", "second"]);
});

it("a request that takes too long fails with those that wait, and only one thread is started after it", async (t) => {
  const threads = watchThreads(t);
  // Longer than the start of a thread on a busy machine, for the last request.
  const thread = await start(t, 2_000);
  const slow = thread.channel<number, null>("sleep").request(3_600_000);
  const waiting = thread.channel<number, number>("double").request(1);
  const reason = "the disk does not answer";
  await Promise.all([assert.rejects(slow, { code: reason }), assert.rejects(waiting, { code: reason })]);
  // The first thread may not have ended yet.
  await assert.rejects(thread.channel<number, number>("double").request(2), { code: reason });
  if (threads[0]!.threadId !== -1) await once(threads[0]!, "exit");
  assert.equal(await thread.channel<number, number>("double").request(2), 4);
  assert.equal(threads.length, 2);
});

it("a value that cannot be copied fails its own request", async (t) => {
  const thread = await start(t);
  await assert.rejects(
    thread.channel("double").request(() => {}),
    { name: "DataCloneError" },
  );
  assert.equal(await thread.channel<number, number>("double").request(2), 4);
});

it("a thread that was closed takes no more requests, and rejects those that wait", async (t) => {
  const thread = await start(t);
  const waiting = [1, 2].map((ms) => thread.channel("sleep").request(ms * 3_600_000));
  const results = Promise.allSettled(waiting);
  await thread.close();
  for (const { status } of await results) assert.equal(status, "rejected");
  await assert.rejects(thread.channel("double").request(1), { code: "THREAD_LOST" });
});
