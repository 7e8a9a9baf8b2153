import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, it } from "node:test";

import { containerRecord, limitRecord } from "../contract/record.ts";
import { type Home, makeHome, NO_WALL, startService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";

const FLAGS = [...NO_WALL, "--container-limit", "month=9"];

function repair(home: Home, ...args: string[]): Promise<Ended> {
  return command(["limits", "repair", "--data", home.data, ...args]);
}

describe("limits repair", () => {
  it("reports the loss that stops a start, keeps the damaged files, and lets the service start", async () => {
    await using home = await makeHome();
    const first = await startService(FLAGS, home);
    for (const container of ["early", "late", "late"]) await first.run(container, "1");
    await first.stop();
    const journal = path.join(home.data, "limits/journal-1");
    const whole = await readFile(journal);
    const damaged = Buffer.from(whole);
    // A byte in the middle of the first record after the header.
    damaged[40]! ^= 1;
    await writeFile(journal, damaged);

    await assert.rejects(startService(FLAGS, home), (error: Error) => {
      assert.match(error.message, /journal-1 cannot be read at byte \d+: .*wrong checksum/);
      assert.ok(error.message.includes(`caisson limits repair --data ${home.data}`), error.message);
      return true;
    });
    const reported = await repair(home);
    assert.deepEqual([reported.code, reported.stderr], [1, ""]);
    assert.match(reported.stdout, /journal-1: \d+ bytes from byte 20 on cannot be read; lost: at most \d+ runs/);
    assert.match(reported.stdout, /nothing was changed; with --yes/);
    assert.deepEqual(await readFile(journal), damaged);

    const repaired = await repair(home, "--yes");
    assert.deepEqual([repaired.code, repaired.stderr], [0, ""]);
    const backup = (await readdir(home.data)).find((name) => name.startsWith("limits-damaged-"))!;
    assert.deepEqual(await readFile(path.join(home.data, backup, "journal-1")), damaged);
    const { uid } = await stat(home.data);
    for (const name of await readdir(path.join(home.data, "limits"))) {
      assert.equal((await stat(path.join(home.data, "limits", name))).uid, uid, `${name} belongs to the service`);
    }
    const again = await startService(FLAGS, home);
    assert.deepEqual(await containerRecord(again, "late"), limitRecord({ month: 7 }));
    const beside = await repair(home, "--yes");
    assert.deepEqual([beside.code, beside.stdout], [1, ""]);
    assert.match(beside.stderr, /the data folder \/.* is in use by another service/);
    await again.stop();
    const sound = await repair(home);
    assert.equal(sound.code, 0);
    assert.match(sound.stdout, /^nothing is damaged: the counts of \d+ keys\n$/);
  });

  it("reports a data folder without counts", async () => {
    await using home = await makeHome();
    const { code, stderr } = await repair(home);
    assert.equal(code, 1);
    assert.ok(stderr.includes(`there are no counts in the data folder ${home.data}`), stderr);
  });
});
