import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { jsonBytes } from "../../src/guest/parsed-bytes.ts";

const LENGTH = 2 ** 19;

/** Returns a JSON list of `LENGTH` bytes. */
function listOf(item: (at: number) => string): string {
  const items: string[] = [];
  let length = 2;
  for (let at = 0; length < LENGTH; at += 1) {
    items.push(item(at));
    length += items.at(-1)!.length + 1;
  }
  return `[${items.join(",")}]`;
}

/** Texts whose values take much memory for their length. */
const DENSE: Record<string, string> = {
  "empty lists": listOf(() => "[]"),
  "lists with a number": listOf(() => "[1]"),
  "nested lists": listOf(() => "[".repeat(60) + "]".repeat(60)),
  "empty objects": listOf(() => "{}"),
  "objects of one shape": listOf(() => '{"a":1}'),
  "objects of many shapes": listOf((at) => `{"${at.toString(36)}":0}`),
  "objects of some shapes in turn": listOf((at) => `{"k${(at % 5_000).toString(36)}":0}`),
  "objects with orders of names": listOf((at) => {
    const names = [at % 31, Math.floor(at / 31) % 31, Math.floor(at / 961) % 31];
    return `{${names.map((name, place) => `"${place}${name.toString(36)}":0`).join(",")}}`;
  }),
  "nested objects": listOf(() => `${'{"a":'.repeat(60)}0${"}".repeat(60)}`),
  "objects with the largest number without a table": listOf(() => '{"34":0}'),
  "objects with a number in a table": listOf(() => '{"999":0}'),
  "objects with an escaped number": listOf(() => '{"\\u00334":0}'),
  "objects with two numbers": listOf(() => '{"1":0,"34":0}'),
  "objects with four numbers": listOf(() => '{"1":0,"2":0,"3":0,"70":0}'),
  "nested objects with numbers": listOf(() => `${'{"34":'.repeat(60)}0${"}".repeat(60)}`),
  "members of one object": `{"a":{${listOf((at) => `"${at.toString(36)}":0`).slice(1, -1)}}}`,
  "short texts": listOf((at) => `"${at.toString(36)}"`),
  "fractions and a text": `["",${listOf(() => "1.5").slice(1, -1)}]`,
  "small numbers": listOf(() => "1"),
};

/** Parses each line of the standard input, and writes the bytes of V8's heap that its value takes. */
const MEASURE = `
  const lines = require("node:fs").readFileSync(0, "latin1").split("\\n");
  const used = lines.map((line) => {
    gc();
    const before = process.memoryUsage().heapUsed;
    globalThis.value = JSON.parse(line);
    gc();
    const after = process.memoryUsage().heapUsed;
    globalThis.value = null;
    return after - before;
  });
  process.stdout.write(JSON.stringify(used));`;

describe("the memory that a JSON body takes", () => {
  it("is never more than the guest expects before it parses the body", () => {
    const texts = Object.values(DENSE);
    const options = { input: texts.join("\n"), encoding: "latin1" } as const;
    const used = JSON.parse(execFileSync(process.execPath, ["--expose-gc", "-e", MEASURE], options)) as number[];
    for (const [index, name] of Object.keys(DENSE).entries()) {
      const expected = jsonBytes(Buffer.from(texts[index]!));
      assert.ok(used[index]! <= expected, `${name}: ${used[index]} bytes, and the guest expects ${expected}`);
      assert.ok(expected <= 64 * texts[index]!.length, `${name}: ${expected} bytes`);
    }
  });

  it("is expected to be a small part of that for texts that callers usually send", () => {
    const record = listOf((at) =>
      JSON.stringify({ id: at, name: `user ${at}`, email: `user-${at}@example.com`, on: true }),
    );
    assert.ok(jsonBytes(Buffer.from(record)) < 12 * record.length);
  });
});
