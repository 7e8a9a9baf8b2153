import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { after, before, describe, it } from "node:test";

import { leave, type Service, startService } from "./service.ts";
import { until } from "./until.ts";
import { makeUserHome, whyNoUser } from "./user.ts";

/** A guest has the pid of the host at this level. The workers compute until the guest ends. */
const WORKERS = `
  const { Worker } = require("node:worker_threads");
  for (let left = 2; left > 0; left--) new Worker("for (;;);", { eval: true });
  return process.pid;`;
/** It computes in short steps and answers every ping. */
const HOG = `
  (async () => {
    for (;;) {
      const end = performance.now() + 10;
      while (performance.now() < end);
      await new Promise(setImmediate);
    }
  })();
  return process.pid;`;
/** It uses all that a guest starts at its first use: the threads of libuv, which read files and compute digests. */
const ORDINARY = `
  const work = Array.from({ length: 8 }, () => require("node:util").promisify(require("node:crypto").pbkdf2)("a", "b", 100, 8, "sha256"));
  await Promise.all([...work, require("node:fs").promises.readdir("/tmp").catch(() => {})]);
  return process.pid;`;
const OWN = 10;
const HIGHEST = 19;
/** The guests compete with all that this machine does. */
const LONG_MS = 60_000;

function nicenessOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)));
}

function isLast(pid: number): boolean {
  return nicenessOf(pid).every((niceness) => niceness === HIGHEST);
}

function autogroupOf(pid: number): number | null {
  try {
    return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))![1]);
  } catch {
    return null;
  }
}

describe("a service that cannot write a control group", { skip: whyNoUser() }, () => {
  let home: Awaited<ReturnType<typeof makeUserHome>>;
  let service: Service;
  const hasAutogroups = autogroupOf(process.pid) !== null;
  before(async () => {
    home = await makeUserHome();
    service = await startService(["--isolation", "confined"], home);
  });
  after(() => leave(service, home));
  const pidOf = async (container: string, code: string): Promise<number> =>
    Number((await service.run(container, code)).text);

  it("gives an ordinary guest its own niceness, which it keeps", async () => {
    const pid = await pidOf("ordinary", ORDINARY);
    if (hasAutogroups) await until(() => autogroupOf(pid) === OWN, "its autogroup has its own niceness");
    // The service has sampled this guest, too, before it finds the threads of another.
    const other = await pidOf("other", WORKERS);
    await until(() => nicenessOf(other).includes(HIGHEST), "threads of another have the highest niceness", LONG_MS);
    assert.equal(await pidOf("ordinary", ORDINARY), pid);
    assert.deepEqual(new Set(nicenessOf(pid)), new Set([OWN]));
    if (hasAutogroups) assert.equal(autogroupOf(pid), OWN);
  });

  it("gives threads that a task starts the highest niceness, also after its answer", async () => {
    const pid = await pidOf("workers", WORKERS);
    await until(
      () => nicenessOf(pid).filter((niceness) => niceness === HIGHEST).length >= 2,
      "the workers have it",
      LONG_MS,
    );
    if (hasAutogroups) await until(() => autogroupOf(pid) === HIGHEST, "the autogroup has the highest niceness");
  });

  it("gives each guest that keeps computing the highest niceness", async () => {
    const pids = await Promise.all(Array.from({ length: 3 }, (_, number) => pidOf(`hog-${number}`, HOG)));
    if (hasAutogroups) {
      // The kernel allows this user one change in 100 ms.
      await until(
        () => pids.every((pid) => autogroupOf(pid) === HIGHEST),
        "the autogroups have the highest niceness",
        LONG_MS,
      );
      // Otherwise the guests would use nothing on a machine with other load, and harm nothing.
      for (const pid of pids) writeFileSync(`/proc/${pid}/autogroup`, "-10");
    }
    await until(() => pids.every(isLast), "all threads have the highest niceness", LONG_MS);
  });
});
