import assert from "node:assert/strict";
import { it } from "node:test";

import { bytesOfCode, isPacked, packed, type TaskCode, unpacked } from "../../src/tasks/task-code.ts";

it("a text alone is stored as it is, as older versions read it", () => {
  const code = { code: '{"lengths":[1]}\nx', modules: null, typescript: false };
  assert.deepEqual([isPacked(code), packed(code)], [false, code.code]);
  assert.deepEqual(unpacked(packed(code), false), code);
});

it("packed code is the same after it is stored, whatever its texts contain", () => {
  const text = '\n{"lengths":[0]}\n\u2028\ud83d\ude00\0';
  const codes: TaskCode[] = [
    { code: text, modules: { "./a.ts": text, "./empty.js": "", "./\u00e9.json": "{}" }, typescript: false },
    { code: "1", modules: null, typescript: true },
    { code: "1", modules: { "./constructor": text }, typescript: true },
  ];
  for (const code of codes) assert.deepEqual(unpacked(packed(code), isPacked(code)), code);
  assert.equal(bytesOfCode({ code: "\u00e9", modules: { "./a": "\u00e9" }, typescript: false }), 4);
});
