import assert from "node:assert/strict";
import { appendFile, chmod, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { watchFile } from "../../../src/tokens/keys/watch-file.ts";
import { until } from "../../contract/until.ts";
import { temporaryFolder } from "../support.ts";

interface Watched {
  readonly file: string;
  reads: number;
  readonly faults: string[];
  /** The fault of the next reads. */
  fault: Error | null;
}

async function watched(t: TestContext): Promise<Watched> {
  const file = join(await temporaryFolder(t), "keys.json");
  await writeFile(file, "1");
  const seen: Watched = { file, reads: 0, faults: [], fault: null };
  const read = async (): Promise<void> => {
    seen.reads++;
    if (seen.fault) throw seen.fault;
  };
  const watch = watchFile(file, read, (error) => void seen.faults.push(error.message));
  t.after(() => watch.stop());
  await until(() => seen.reads === 1, "it was read once");
  return seen;
}

test("a file is read again after a write, a replacement, a change of mode, or its removal", async (t) => {
  const seen = await watched(t);
  const changes = [
    () => appendFile(seen.file, "2"),
    async () => {
      await writeFile(`${seen.file}.new`, "12");
      await rename(`${seen.file}.new`, seen.file);
    },
    () => chmod(seen.file, 0o600),
    () => rm(seen.file),
    () => writeFile(seen.file, "3"),
  ];
  for (const change of changes) {
    const before = seen.reads;
    await change();
    await until(() => seen.reads > before, "it was read again");
  }
  assert.deepEqual(seen.faults, []);
});

test("a failure is reported once for each state of the file, and not during a partial write", async (t) => {
  const seen = await watched(t);
  seen.fault = new Error("half of it");
  await appendFile(seen.file, "2");
  await until(() => seen.reads === 2, "it was read again");
  assert.deepEqual(seen.faults, []);
  await until(() => seen.faults.length === 1, "the fault is reported when it lasts");
  const { reads } = seen;
  await until(() => seen.reads > reads + 1, "it was read again");
  assert.deepEqual(seen.faults, ["half of it"]);
  seen.fault = new Error("other half");
  await appendFile(seen.file, "3");
  await until(() => seen.faults.length === 2, "the fault of another state is reported");
});

test("a file whose failure had another cause is read again after that cause has gone, and then not again", async (t) => {
  const seen = await watched(t);
  seen.fault = new Error("no descriptor left");
  await appendFile(seen.file, "2");
  await until(() => seen.faults.length === 1, "the fault is reported when it lasts");
  const { reads } = seen;
  seen.fault = null;
  await until(() => seen.reads > reads, "it was read again without a change");
  const good = seen.reads;
  await appendFile(seen.file, "3");
  await until(() => seen.reads > good, "it was read again with one");
  assert.equal(seen.reads, good + 1);
});

test("nothing is read after a stop", async (t) => {
  const file = join(await temporaryFolder(t), "keys.json");
  await writeFile(file, "1");
  let reads = 0;
  const watch = watchFile(file, async () => void reads++, assert.fail);
  await until(() => reads === 1, "it was read once");
  await watch.stop();
  await watch.stop();
  assert.equal(reads, 1);
});
