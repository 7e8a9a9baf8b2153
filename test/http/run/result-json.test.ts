import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { RecordResult } from "../../../src/http/run/record-result.ts";
import { ResultBytes } from "../../../src/http/run/result-bytes.ts";
import { joinLines, lengthOf, piecesOf, textOf } from "../../../src/http/run/result-json.ts";

const TEXT = 'é\u2028"\u0001😀\n'.repeat(20_000);
const BYTES = Buffer.from(TEXT);

function whole(form: RecordResult["form"], bytes = BYTES): RecordResult {
  return { bytes, form, isTruncated: false };
}

describe("the JSON of a result", () => {
  it("is the same in pieces as at once, and its length is known before", async () => {
    const json = Buffer.from(JSON.stringify(TEXT));
    for (const [result, expected] of [
      [whole("text"), JSON.stringify(TEXT)],
      [whole("base64"), JSON.stringify(BYTES.toString("base64"))],
      [whole("base64", BYTES.subarray(1)), JSON.stringify(BYTES.subarray(1).toString("base64"))],
      [whole("json", json), json.toString()],
      [whole("text", Buffer.alloc(0)), '""'],
    ] as const) {
      const parts = ["[", result, ",é,", result, "]"];
      assert.equal(textOf(parts), `[${expected},é,${expected}]`);
      assert.equal(await lengthOf(parts, "holder", () => false), Buffer.byteLength(textOf(parts)));
    }
  });

  it("has a replacement for a character that is cut", () => {
    assert.equal(textOf([whole("text", Buffer.from("aé").subarray(0, 2))]), '"a\ufffd"');
  });

  it("is never in memory as a whole: no piece is larger than 128 KiB", () => {
    const control = Buffer.alloc(2 ** 20, 1);
    for (const form of ["text", "base64", "json"] as const) {
      for (const piece of piecesOf([whole(form, control)])) assert.ok(piece.length <= 2 ** 17);
    }
  });

  it("has spaces instead of line breaks in an event", async () => {
    const json = Buffer.from(`[1,\r\n\n2${"\n,3".repeat(100_000)}]`);
    const before = JSON.parse(json.toString()) as unknown;
    await joinLines(json, "holder");
    assert.doesNotMatch(json.toString(), /[\r\n]/);
    assert.deepEqual(JSON.parse(json.toString()), before);
  });
});

describe("the bytes of a result", () => {
  it("are the beginning of the body, and their memory is counted before it is used", () => {
    let counted = 0;
    const kept = new ResultBytes(10, (bytes) => (counted += bytes));
    assert.deepEqual(
      ["abc", "", "defgh", "ij", "k"].map((chunk) => kept.add(Buffer.from(chunk))),
      [true, true, true, true, false],
    );
    assert.deepEqual([kept.bytes.toString(), counted], ["abcdefghij", 10]);
  });

  it("are not copied if the body has one chunk", () => {
    const chunk = Buffer.from("abc");
    const kept = new ResultBytes(10, () => {});
    kept.add(chunk);
    assert.equal(kept.bytes.buffer, chunk.buffer);
  });
});
