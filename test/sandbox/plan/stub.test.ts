import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { machineCode } from "../../../src/sandbox/plan/listing.ts";
import { STUB_LISTINGS, stubProgram } from "../../../src/sandbox/plan/stub.ts";
import { assemble, whyNoAssembler } from "./listings.ts";

for (const architecture of ["x64", "arm64"] as const) {
  describe(`the stub for ${architecture}`, () => {
    it("has the bytes of its listing's instructions", { skip: whyNoAssembler(architecture) }, async (t) => {
      const code = machineCode(STUB_LISTINGS[architecture]);
      assert.equal(
        (await assemble(t, architecture, STUB_LISTINGS[architecture])).toString("hex"),
        code.toString("hex"),
      );
      assert.ok(code.length > 100);
    });

    it("has code that cannot be written, and a plan and a stack that cannot be executed", () => {
      const file = stubProgram(architecture);
      assert.ok(file.length < 512);
      assert.equal(file.readUInt16LE(18), architecture === "x64" ? 62 : 183);
      const segments = [0, 1, 2].map((index) => file.subarray(64 + index * 56, 64 + (index + 1) * 56));
      const rights = segments.map((segment) => segment.readUInt32LE(4));
      assert.deepEqual(rights, [5, 6, 6]);
      const start = file.readBigUInt64LE(24) - segments[0]!.readBigUInt64LE(16);
      assert.equal(
        file.subarray(Number(start)).toString("hex"),
        machineCode(STUB_LISTINGS[architecture]).toString("hex"),
      );
    });
  });
}
