import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import type { FailureCode } from "../../src/bundler/build-messages.ts";
import { Failure } from "../../src/bundler/failure.ts";
import { untar } from "../../src/bundler/untar.ts";
import { type TarEntry, tarOf } from "../builder/tar.ts";

const MIB = 2 ** 20;

describe("the archive of a package", () => {
  it("is unpacked below its first folder, whatever that is called", async () => {
    assert.deepEqual(
      await contentsOf([
        { path: "package/a.js", content: "1" },
        { path: "other/lib/./b.js", content: "2" },
      ]),
      {
        "a.js": "1",
        "lib/b.js": "2",
      },
    );
  });

  it("may have long names, of pax and of GNU, which count for the next file only", async () => {
    const long = `package/${"deep/".repeat(40)}x.js`;
    const record = (size: number): string => `${size} path=${long}\n`;
    const content = record(record(0).length + 2);
    const entries: TarEntry[] = [
      { path: "PaxHeader", type: "x", content },
      { path: "short", content: "pax" },
      { path: "././@LongLink", type: "L", content: `${long.replace("x.js", "y.js")}\0` },
      { path: "short", content: "gnu" },
      { path: "package/z.js", content: "own" },
    ];
    const folder = "deep/".repeat(40);
    assert.deepEqual(await contentsOf(entries), { [`${folder}x.js`]: "pax", [`${folder}y.js`]: "gnu", "z.js": "own" });
  });

  it("gives neither links nor devices nor folders", async () => {
    const types = ["1", "2", "3", "4", "5", "6", "g"];
    const entries = types.map((type) => ({ path: `package/${type}`, type, link: "/etc/passwd" }));
    assert.deepEqual(await contentsOf([...entries, { path: "package/a.js", content: "1" }]), { "a.js": "1" });
  });

  it("is refused if a path leads out of it", async () => {
    const paths = ["package/../../x", "/etc/passwd", "package\\..\\x", "..", "package/lib/../../../x"];
    for (const path of paths) await refused([{ path, content: "x" }], "packages_failed", /unsafe path/);
    const pax = { path: "PaxHeader", type: "x", content: "22 path=package/../../x\n".replace("22", "24") };
    await refused([pax, { path: "package/a", content: "x" }], "packages_failed", /unsafe path/);
  });

  it("is refused if it grows beyond the bound, without unpacking the rest", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    await assert.rejects(untar(bomb, "bomb@1.0.0", MIB), (error) =>
      isFailure(error, "packages_too_large", /bomb@1\.0\.0/),
    );
    const files = Array.from({ length: 20_001 }, (_, index) => ({ path: `package/${index}` }));
    await refused(files, "packages_too_large", /more than 20000 files/);
  });

  it("is refused if it is damaged", async () => {
    const archive = tarOf([{ path: "package/a.js", content: "x".repeat(2_000) }]);
    const wrongSum = Buffer.from(archive);
    wrongSum.write("9999999", 148);
    const damaged = [
      Buffer.from("no gzip"),
      gzipSync(archive).subarray(0, 60),
      gzipSync(archive.subarray(0, 1_024)),
      gzipSync(wrongSum),
      gzipSync(tarOf([{ path: "package/a.js", size: "-0000000001\0" }])),
      gzipSync(tarOf([{ path: "package/a.js", size: "\x80\0\0\0\0\0\0\0\0\0\0\x01" }])),
      gzipSync(tarOf([{ path: "package/a.js", size: "77777777777\0" }])),
    ];
    for (const bytes of damaged) {
      await assert.rejects(untar(bytes, "x@1.0.0", MIB), (error) => isFailure(error, "packages_failed", /damaged/));
    }
  });
});

async function contentsOf(entries: readonly TarEntry[]): Promise<Record<string, string>> {
  const files = await untar(gzipSync(tarOf(entries)), "x@1.0.0", MIB);
  return Object.fromEntries([...files].map(([path, content]) => [path, content.toString()]));
}

async function refused(entries: readonly TarEntry[], code: FailureCode, detail: RegExp): Promise<void> {
  const archive = gzipSync(tarOf(entries));
  await assert.rejects(untar(archive, "x@1.0.0", 64 * MIB), (error) => isFailure(error, code, detail));
}

function isFailure(error: unknown, code: FailureCode, detail: RegExp): boolean {
  assert.ok(error instanceof Failure, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, detail);
  return true;
}
