import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { KeptInput } from "../../../src/http/run/kept-input.ts";
import { BOUNDS } from "../../records/bounds.ts";

describe("the kept beginning of a body", () => {
  it("takes at most 64 KiB of memory, also of a body in chunks of one byte", () => {
    const kept = new KeptInput(BOUNDS.inputLimit);
    const before = process.memoryUsage().arrayBuffers;
    for (let at = 0; at < 100_000; at++) kept.add(Buffer.from([97 + (at % 26)]));
    assert.equal(kept.bytes, 65_536);
    assert.equal(kept.text?.length, 65_536);
    assert.ok(kept.text?.startsWith("abcdefghijklmnopqrstuvwxyzab"));
    assert.ok(process.memoryUsage().arrayBuffers - before < 2 ** 20);
  });

  it("counts the memory of a short body", () => {
    const kept = new KeptInput(BOUNDS.inputLimit);
    assert.equal(kept.bytes, 0);
    kept.add(Buffer.from("short"));
    assert.equal(kept.bytes, 1_024);
    assert.equal(kept.text, "short");
  });

  it("may end within a character, and is null for what is not UTF-8", () => {
    const cut = new KeptInput(BOUNDS.inputLimit);
    cut.add(Buffer.from("\u{e9}").subarray(0, 1));
    assert.equal(cut.text, "");
    const other = new KeptInput(BOUNDS.inputLimit);
    other.add(Buffer.from([255, 254]));
    assert.equal(other.text, null);
  });
});
