import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { codeOf } from "../../../src/containers/guest/code-table.ts";
import { Guest } from "../../../src/containers/guest/guest.ts";
import { PackageCaches } from "../../../src/containers/guest/package-caches.ts";
import type { CodePackages } from "../../../src/containers/guest/package-table.ts";
import { artefactOf } from "../../artefact.ts";
import { until } from "../../contract/until.ts";
import { LIMITS } from "../puppet.ts";
import { openRealGuests, type RealGuests } from "../real-guests.ts";
import { Recorder } from "../recorder.ts";

let guests: RealGuests;
before(async () => {
  guests = await openRealGuests({ isolation: "none" });
});
after(() => guests.close());

/** Runs code in a new guest. */
async function run(caches: PackageCaches, packages: CodePackages, source: string): Promise<string> {
  const guest = new Guest(await guests.sandbox.launch(), LIMITS, undefined, {
    cacheOf: (each) => caches.of(each),
  });
  guests.made.add(await guest.ready());
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from(source), typescript: false, modules: null, packages });
  guest.run(code, () => "{}", recorder, performance.now());
  return recorder.outcome();
}

describe("the code caches of packages", () => {
  it("are made by an unused guest when a first guest needs them, and used by the next", async () => {
    const packages = { key: "zod", artefact: await artefactOf(["zod"]) };
    const started: Guest[] = [];
    const caches = new PackageCaches(async () => {
      const guest = await guests.make();
      started.push(guest);
      return guest;
    });
    const source = 'import { z } from "zod"; export default z.string().parse("ok")';
    assert.equal(await run(caches, packages, source), 'result "ok"');
    await until(() => caches.of(packages) !== null, "the cache is made");
    assert.deepEqual([started.length, started[0]!.ended, started[0]!.runs], [1, true, 1]);
    assert.ok(caches.of(packages)!.length > packages.artefact.length / 4);
    assert.equal(await run(caches, packages, source), 'result "ok"');
    caches.close();
  });

  it("are not made for a short artefact, nor again after a failure", async () => {
    let starts = 0;
    const caches = new PackageCaches(() => {
      starts += 1;
      return Promise.reject(new Error("no guest"));
    });
    const short = { key: "short", artefact: Buffer.alloc(1_000) };
    const long = { key: "long", artefact: Buffer.alloc(100_000) };
    for (let count = 0; count < 5; count += 1) caches.of(short);
    assert.equal(starts, 0);
    for (let count = 0; count < 5; count += 1) {
      assert.equal(caches.of(long), null);
      await new Promise(setImmediate);
    }
    assert.equal(starts, 1);
  });
});
