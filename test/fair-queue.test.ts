import assert from "node:assert/strict";
import { it } from "node:test";

import { FairQueue } from "../src/fair-queue.ts";

it("runs no more work at once than it may, and all of it", async () => {
  const queue = new FairQueue(3);
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    running++;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running--;
  };
  await Promise.all(Array.from({ length: 20 }, (_, at) => queue.run(String(at % 4), work)));
  assert.deepEqual([running, most], [0, 3]);
});

it("a holder with little work does not wait for all work of another holder", async () => {
  const queue = new FairQueue(1);
  const done: string[] = [];
  const run = (holder: string): Promise<void> =>
    queue.run(holder, async () => {
      await new Promise(setImmediate);
      done.push(holder);
    });
  const greedy = Array.from({ length: 100 }, () => run("greedy"));
  await run("quiet");
  assert.ok(done.length <= 3, `${done.length} were done before`);
  await Promise.all(greedy);
});

it("two holders that have all slots and more work leave the next slot to a third one", async () => {
  const queue = new FairQueue(2, 1);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (holder: string): Promise<void> =>
    queue.run(holder, () => {
      begun.push(holder);
      return new Promise((resolve) => ends.set(holder, resolve));
    });
  const all = ["a", "b", "a", "b", "a", "b"].map(run);
  all.push(run("third"));
  assert.deepEqual(begun, ["a", "b"]);
  ends.get("a")!();
  await all[0];
  assert.deepEqual(begun, ["a", "b", "third"]);
  // A holder that comes later waits for at most one work of each other holder that waits.
  all.push(run("fourth"));
  for (const holder of ["b", "third", "a"]) {
    ends.get(holder)!();
    await new Promise(setImmediate);
  }
  assert.deepEqual(begun.slice(3), ["a", "fourth", "b"]);
  for (let turn = 0; turn < all.length; turn++) {
    for (const end of ends.values()) end();
    await new Promise(setImmediate);
  }
  await Promise.all(all);
});

it("work that fails frees its place", async () => {
  const queue = new FairQueue(1);
  for (let turn = 0; turn < 3; turn++) {
    await assert.rejects(
      queue.run("a", () => Promise.reject(new Error("fails"))),
      /fails/,
    );
  }
  assert.equal(await queue.run("a", () => Promise.resolve(1)), 1);
});

it("work that waits is dropped when its signal aborts, and nothing else is", async () => {
  const queue = new FairQueue(1);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const running = queue.run("a", () => ended);
  const gone = new AbortController();
  const begun: string[] = [];
  const begin = (name: string, signal?: AbortSignal): Promise<void> =>
    queue.run("a", () => Promise.resolve(void begun.push(name)), signal);
  const all = [begin("1"), begin("2", gone.signal), begin("3", new AbortController().signal)];
  gone.abort(new Error("gone"));
  await assert.rejects(all[1]!, /gone/);
  await assert.rejects(begin("4", gone.signal), /gone/);
  end();
  await Promise.all([running, all[0], all[2]]);
  assert.deepEqual(begun, ["1", "3"]);
});

it("a holder with work that does not end leaves slots to others, and gets its own back", async () => {
  const queue = new FairQueue(2, 1);
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  const greedy = Array.from({ length: 3 }, () => queue.run("greedy", () => ended));
  assert.equal(await queue.run("quiet", () => Promise.resolve("done")), "done");
  end("ended");
  assert.deepEqual(await Promise.all(greedy), ["ended", "ended", "ended"]);
});
