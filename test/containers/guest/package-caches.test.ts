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
  guests = await openRealGuests();
});
after(() => guests.close());

/** Runs code in a new guest. */
async function run(caches: PackageCaches, packages: CodePackages, source: string): Promise<string> {
  const guest = new Guest(await guests.sandbox.launch(), LIMITS, undefined, {
    cacheOf: (each, family) => caches.of(each, family),
  });
  guests.made.add(await guest.ready());
  const recorder = new Recorder();
  const code = codeOf({ source: Buffer.from(source), typescript: false, modules: null, packages });
  guest.run(code, () => "{}", recorder, performance.now());
  return recorder.outcome();
}

describe("the code caches of packages", () => {
  it("are made by unused guests when a first guest needs them, and used by the next", async () => {
    const packages = { key: "zod", artefact: await artefactOf(["zod"]) };
    const started: Guest[] = [];
    const caches = new PackageCaches(async () => {
      const guest = await guests.make();
      started.push(guest);
      return guest;
    });
    const source = 'import { z } from "zod"; export default z.string().parse("ok")';
    assert.equal(await run(caches, packages, source), 'result "ok"');
    await until(() => caches.of(packages, "") !== null, "the cache is made");
    assert.deepEqual(
      started.map(({ ended, runs }) => [ended, runs]),
      [
        [true, 1],
        [true, 1],
      ],
    );
    // With all functions, a cache is longer than its text.
    const { length } = caches.of(packages, "")!;
    assert.ok(length > packages.artefact.length / 8 && length < packages.artefact.length);
    assert.equal(await run(caches, packages, source), 'result "ok"');
    caches.close();
  });

  it("have all functions if a guest cannot evaluate the packages, or reports no numbers", async () => {
    const filler = Array.from({ length: 3_000 }, (_, at) => `exports.f${at} = function () { return ${at}; };`).join(
      "\n",
    );
    const full: number[] = [];
    for (const [key, start] of Object.entries({
      exits: "process.exit(1);",
      forges: "Array.prototype.filter = () => [{ functions: [{ ranges: [{ count: 1, endOffset: -2 }] }] }];",
      honest: "",
    })) {
      const caches = new PackageCaches(() => guests.make());
      const written = { "filler@1.0.0/index.js": `${start}\n${filler}` };
      const packages = { key, artefact: await artefactOf(["filler"], written) };
      assert.equal(caches.of(packages, ""), null);
      await until(() => caches.of(packages, "") !== null, "the cache is made");
      full.push(caches.of(packages, "")!.length / packages.artefact.length);
      caches.close();
    }
    assert.ok(full[0]! > 1.5 * full[2]! && full[1]! > 1.5 * full[2]!, full.join());
  });

  it("are not made for a short artefact, nor again within a minute after a failure", async () => {
    let starts = 0;
    let nowMs = 0;
    const start = (): Promise<never> => {
      starts += 1;
      return Promise.reject(new Error("no guest"));
    };
    const caches = new PackageCaches(start, () => nowMs);
    const short = { key: "short", artefact: Buffer.alloc(1_000) };
    const long = { key: "long", artefact: Buffer.alloc(100_000) };
    for (let count = 0; count < 5; count += 1) caches.of(short, "");
    assert.equal(starts, 0);
    for (let count = 0; count < 5; count += 1) {
      assert.equal(caches.of(long, ""), null);
      await new Promise(setImmediate);
    }
    assert.equal(starts, 2);
    nowMs = 60_000;
    assert.equal(caches.of(long, ""), null);
    await new Promise(setImmediate);
    assert.equal(starts, 4);
  });

  it("of one token family do not evict those of another family", async () => {
    const MIB = 2 ** 20;
    const caches = new PackageCaches(
      () => Promise.reject(new Error("no guest")),
      undefined,
      () => Promise.resolve(Buffer.alloc(MIB)),
    );
    const make = async (key: string, family: string): Promise<void> => {
      caches.of({ key, artefact: Buffer.alloc(MIB) }, family);
      await new Promise(setImmediate);
    };
    await make("other", "quiet");
    for (let at = 0; at < 80; at++) await make(`greedy-${at}`, "greedy");
    const has = (key: string): boolean => caches.of({ key, artefact: Buffer.alloc(1_000_000) }, "quiet") !== null;
    assert.deepEqual([has("other"), has("greedy-79"), has("greedy-0")], [true, true, false]);
  });

  it("are made in turns of token families, one of each family at a time", async () => {
    const made: string[] = [];
    const ends: (() => void)[] = [];
    const caches = new PackageCaches(
      () => Promise.reject(new Error("no guest")),
      undefined,
      async ({ key }) => {
        made.push(key);
        await new Promise<void>((resolve) => ends.push(resolve));
        return Buffer.alloc(1);
      },
    );
    const ask = (key: string, family: string): void => {
      assert.equal(caches.of({ key, artefact: Buffer.alloc(100_000) }, family), null);
    };
    ask("greedy-1", "greedy");
    ask("quiet-1", "quiet");
    ask("greedy-2", "greedy");
    ends[0]!();
    await new Promise(setImmediate);
    // As its next guest does. Before, that was the next cache to be made.
    ask("greedy-2", "greedy");
    assert.deepEqual(made, ["greedy-1", "quiet-1"]);
    ends[1]!();
    await new Promise(setImmediate);
    assert.deepEqual(made, ["greedy-1", "quiet-1", "greedy-2"]);
    ends[2]!();
    caches.close();
  });

  it("that wait for their turn hold a bounded number of bytes, and none is made after the end", async () => {
    const made: string[] = [];
    const first = Promise.withResolvers<Buffer>();
    const caches = new PackageCaches(
      () => Promise.reject(new Error("no guest")),
      undefined,
      ({ key }) => {
        made.push(key);
        return made.length === 1 ? first.promise : Promise.resolve(Buffer.alloc(1));
      },
    );
    const artefact = Buffer.alloc(10 * 2 ** 20);
    for (let at = 0; at < 20; at++) caches.of({ key: `artefact-${at}`, artefact }, `family-${at}`);
    first.resolve(Buffer.alloc(1));
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    assert.equal(made.length, 6);
    const last = new PackageCaches(
      () => Promise.reject(new Error("no guest")),
      undefined,
      ({ key }) => {
        made.push(key);
        last.close();
        return Promise.resolve(Buffer.alloc(1));
      },
    );
    for (const family of ["one", "other"]) last.of({ key: `last of ${family}`, artefact }, family);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    assert.deepEqual(made.slice(6), ["last of one"]);
  });
});
