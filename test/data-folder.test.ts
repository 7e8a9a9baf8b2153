import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { makeDataFolder } from "../src/data-folder.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-data-"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("a data folder", () => {
  it("is created for its owner only, if the folder above it exists", () => {
    const data = path.join(folder, "data");
    makeDataFolder(data);
    assert.equal(statSync(data).mode & 0o777, 0o700);
    makeDataFolder(data);
  });

  it("is not created if the folder above it is missing, which probably is a misspelling", () => {
    const data = path.join(folder, "vra", "lib", "caisson");
    const parent = path.join(folder, "vra", "lib");
    assert.throws(
      () => makeDataFolder(data),
      new Error(
        `--data: the data folder ${data} does not exist, and neither does ${parent}; run mkdir -p ${parent}, or give another --data`,
      ),
    );
    assert.equal(existsSync(path.join(folder, "vra")), false);
  });

  it("has a folder above it that a shell needs in quotes", () => {
    const data = path.join(folder, "it's mine", "data");
    assert.throws(() => makeDataFolder(data), /; run mkdir -p '.*it'\\''s mine', or give another --data$/);
    mkdirSync(path.dirname(data));
    makeDataFolder(data);
    assert.ok(existsSync(data));
  });
});
