import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { it } from "node:test";
import { Worker } from "node:worker_threads";

import { dayOf, nameOf } from "../../../src/records/days/day.ts";
import type { ThreadRequest } from "../../../src/records/request-thread.ts";
import { until } from "../../contract/until.ts";
import { addAll, DAY_MS, keptRun, newFolder, openStore, reopenStore, walkAll } from "./kept-runs.ts";

const NOW = Date.now();
const UNPRIVILEGED = 65_534;
const notRoot = process.getuid?.() === 0 ? false : "only root can give up root";
const canMount = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/tmp"]).status === 0;
const noMount = canMount && notRoot === false ? false : "only root can mount a small file system";
const ROOT = path.join(import.meta.dirname, "../../..");
/** Executes a command that finds its first argument at its second argument. */
const MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
const TODAY = nameOf(dayOf(NOW));
const YESTERDAY = nameOf(dayOf(NOW - DAY_MS));

/** Overwrites all of a file but its first page, so that SQLite opens it and finds the damage later. */
function damage(file: string): void {
  const handle = openSync(file, "r+");
  for (let page = 1; page < 20; page++) writeSync(handle, Buffer.alloc(4_096, 0xa5), 0, 4_096, page * 4_096);
  closeSync(handle);
}

for (const [how, spoil] of [
  ["is no database", (file: string) => writeFileSync(file, "no database".repeat(1_000))],
  ["has damaged pages", damage],
  ["is a folder", (file: string) => (rmSync(file), mkdirSync(file))],
] as const) {
  it(`begins a new file for today if the old one ${how}, and names the one that was set aside`, async () => {
    const first = await openStore();
    await addAll(first.store, [keptRun()]);
    await first.store.close();
    spoil(path.join(first.folder, TODAY));
    const again = reopenStore(first.folder);
    const kept = keptRun();
    await addAll(again.store, [kept]);
    assert.deepEqual(await walkAll(again.store), [kept.record.run]);
    await again.store.close();
    assert.equal(again.store.losses.dropped, 0);
    const databases = readdirSync(first.folder).filter((name) => !/-(?:wal|shm)$/.test(name));
    assert.deepEqual(databases, [TODAY, `${TODAY}.unreadable-1`]);

    await using last = reopenStore(first.folder);
    await until(() => last.store.losses.unreadable.length > 0, "the damaged file is named");
    assert.deepEqual(last.store.losses.unreadable, [`${TODAY}.unreadable-1`]);
    assert.deepEqual(await walkAll(last.store), [kept.record.run]);
  });
}

it("keeps at most three damaged files of a day", async () => {
  const folder = await newFolder();
  for (let round = 0; round < 5; round++) {
    writeFileSync(path.join(folder, TODAY), "no database".repeat(1_000));
    await using opened = reopenStore(folder);
    await addAll(opened.store, [keptRun()]);
  }
  const names = readdirSync(folder).filter((name) => /unreadable-\d$/.test(name));
  assert.deepEqual(
    names,
    [1, 2, 3].map((number) => `${TODAY}.unreadable-${number}`),
  );
});

it("skips an old file that is damaged in all reads, and names it", async () => {
  const first = await openStore();
  const runs = [0, 1, 2].map((daysAgo) => keptRun({ startedMs: NOW - daysAgo * DAY_MS }));
  await addAll(first.store, runs);
  await first.store.close();
  damage(path.join(first.folder, YESTERDAY));
  await using again = reopenStore(first.folder);
  const { store } = again;
  assert.deepEqual(
    await walkAll(store),
    [runs[0], runs[2]].map((kept) => kept!.record.run),
  );
  assert.equal(await store.get("acme", runs[1]!.record.run, "test"), null);
  assert.deepEqual((await store.get("acme", runs[2]!.record.run, "test"))?.record, runs[2]!.record);
  assert.deepEqual(store.losses.unreadable, [YESTERDAY]);
  assert.equal(store.losses.failure, null);
});

it("begins a new file when the file of today is deleted or replaced, and reads go on", async () => {
  await using opened = await openStore();
  const { folder, store } = opened;
  const file = path.join(folder, TODAY);
  await addAll(store, [keptRun()]);
  rmSync(file);
  const second = keptRun();
  await addAll(store, [second]);
  assert.deepEqual(await walkAll(store), [second.record.run]);
  rmSync(file);
  writeFileSync(file, "replaced".repeat(1_000));
  const third = keptRun();
  await addAll(store, [third]);
  assert.deepEqual(await walkAll(store), [third.record.run]);
});

/** Waits for the answer of the writer. The reader sees a record before, as soon as it is in the file. */
async function untilWriting(store: { readonly losses: { readonly failure: string | null } }): Promise<void> {
  await until(() => store.losses.failure === null, "the writer works again");
}

/** Opens a store. @returns also the threads that it starts. */
async function withThreads(): Promise<{ opened: Awaited<ReturnType<typeof openStore>>; threads: Worker[] }> {
  const threads: Worker[] = [];
  const watch = (thread: Worker): void => void threads.push(thread);
  process.on("worker", watch);
  const opened = await openStore();
  return {
    opened: { ...opened, [Symbol.asyncDispose]: () => (process.off("worker", watch), opened.store.close()) },
    threads,
  };
}

/** Ends a thread as soon as it has a batch. */
function endAtBatch(thread: Worker): void {
  const post = thread.postMessage.bind(thread);
  thread.postMessage = (message: ThreadRequest) => {
    post(message);
    if (message.service === "runs") void thread.terminate();
  };
}

/** Ends each thread as soon as it has a batch, also a thread that has just been started for it. */
function endAtEveryBatch(): Disposable {
  const post = Object.getOwnPropertyDescriptor(Worker.prototype, "postMessage")!.value as Worker["postMessage"];
  Worker.prototype.postMessage = function (this: Worker, message: ThreadRequest): void {
    // The thread never receives the batch: it could write it before it ends.
    if (message.service === "runs") void this.terminate();
    else post.call(this, message);
  };
  return { [Symbol.dispose]: () => void (Worker.prototype.postMessage = post) };
}

it("starts another writer thread when the thread ends, and loses no record that waits", async () => {
  const { opened, threads } = await withThreads();
  await using _ = opened;
  const { store } = opened;
  const first = keptRun();
  await addAll(store, [first]);
  // The first thread is the writer.
  const lost = once(threads[0]!, "exit");
  endAtBatch(threads[0]!);
  const waiting = Array.from({ length: 5_000 }, () => keptRun());
  for (const kept of waiting) store.add(kept);
  await lost;
  assert.match(store.losses.failure ?? "", /the writer thread ended/);
  await addAll(store, [keptRun()]);
  assert.equal((await walkAll(store, { count: 1_000 })).length, 5_002);
  assert.equal(store.losses.dropped, 0);
  await untilWriting(store);
});

it("drops a batch over which three threads have ended, and writes the next one", async () => {
  const { opened, threads } = await withThreads();
  await using _ = opened;
  const { store } = opened;
  await addAll(store, [keptRun()]);
  const ending = endAtEveryBatch();
  try {
    store.add(keptRun());
    await until(() => store.losses.dropped > 0, "the batch is dropped", 90_000);
  } finally {
    ending[Symbol.dispose]();
  }
  // The second thread is the reader.
  assert.ok(threads.length >= 4, `${threads.length} threads`);
  await addAll(store, [keptRun()]);
  assert.equal(store.losses.dropped, 1);
  await untilWriting(store);
});

it("answers store_unavailable when the reader thread ends, and reads again with another thread", async () => {
  const { opened, threads } = await withThreads();
  await using _ = opened;
  const { store } = opened;
  const kept = keptRun();
  await addAll(store, [kept]);
  const ended = threads[1]!.terminate();
  const cut = store.get("acme", kept.record.run, "test");
  await assert.rejects(cut, { code: "store_unavailable", status: 503 });
  await ended;
  assert.deepEqual((await store.get("acme", kept.record.run, "test"))?.record, kept.record);
});

it(
  "names the cause if the service gave up root and a folder above the data folder is closed to it",
  { skip: notRoot },
  async () => {
    const closed = await newFolder();
    const data = path.join(closed, "data");
    mkdirSync(data);
    chownSync(data, UNPRIVILEGED, UNPRIVILEGED);
    // The checkout may be in a private folder of root, too, and then the writer thread could not read its program.
    const open = await newFolder();
    chmodSync(open, 0o755);
    const words = canMount ? ["unshare", "--mount", "sh", "-c", MOUNTED, "sh", ROOT, open] : [];
    for (const file of [process.execPath, path.join(import.meta.dirname, "closed-folder.ts")]) {
      words.push(canMount ? path.join(open, path.relative(ROOT, file)) : file);
    }
    const child = spawn(words[0]!, [...words.slice(1), data, `${UNPRIVILEGED}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await once(child.stdout, "data");
    assert.match(String(output), /^a folder above the data folder is closed to the user of the service/);
    await once(child, "close");
  },
);

it(
  "costs records and nothing more when the disk is full, and writes again when there is space",
  { skip: noMount },
  async () => {
    const folder = await newFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "none", folder]);
    try {
      const old = keptRun({ startedMs: NOW - 2 * DAY_MS });
      const first = reopenStore(folder);
      await addAll(first.store, [old]);
      await first.store.close();
      const { store } = reopenStore(folder);
      const before = keptRun({ startedMs: NOW - 1_000 });
      const yesterday = keptRun({ startedMs: NOW - DAY_MS });
      await addAll(store, [yesterday, before]);
      fill(path.join(folder, "filler"));
      const text = "x".repeat(50_000);
      const full = Array.from({ length: 600 }, () => keptRun({ console: [{ atMs: 0, level: "info", text }] }));
      for (const kept of full) store.add(kept);
      assert.ok(store.losses.dropped > 0, "the queue is bounded");
      await until(() => store.losses.failure !== null, "the failure is reported");
      assert.equal(store.losses.failure, "database or disk is full");
      const kept = [before, yesterday, old].map(({ record }) => record.run);
      assert.deepEqual(await walkAll(store), kept, "the stored records can still be read");
      execFileSync("mount", ["-o", "remount,size=200m", folder]);
      await until(() => store.losses.failure === null, "the writer works again", 60_000);
      await addAll(store, [keptRun()]);
      const { dropped } = store.losses;
      assert.equal((await walkAll(store)).length, 4 + full.length - dropped, "what waited is written");
      await store.close();
    } finally {
      execFileSync("umount", [folder]);
    }
  },
);

it(
  "reads and ends in time when the disk is full at the start, and counts what it could not write",
  { skip: noMount },
  async () => {
    const folder = await newFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", folder]);
    try {
      const old = keptRun({ startedMs: NOW - DAY_MS });
      const first = reopenStore(folder);
      first.store.add(old);
      await first.store.close();
      fill(path.join(folder, "filler"));
      const { store } = reopenStore(folder);
      assert.deepEqual(await walkAll(store), [old.record.run]);
      for (let at = 0; at < 10; at++) store.add(keptRun());
      await store.close();
      assert.equal(store.losses.dropped, 10);
      assert.match(store.losses.failure ?? "", /full|disk I\/O|open/);
    } finally {
      execFileSync("umount", [folder]);
    }
  },
);

function fill(file: string): void {
  const chunk = Buffer.alloc(4_096);
  for (;;) {
    try {
      appendFileSync(file, chunk);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
      return;
    }
  }
}
