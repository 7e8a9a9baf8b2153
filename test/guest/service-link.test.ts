import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import { GuestProcess } from "./guest-process.ts";

/** Returns an artefact with a package `text`, whose only export is this text. */
function artefactWith(text: string): Buffer {
  return Buffer.from(
    `module.exports = { __proto__: null, text: { __proto__: null, import: () => ({ text: ${JSON.stringify(text)} }) } };`,
  );
}

const HASH =
  'import { text } from "text"; export default async () => (await import("node:crypto")).createHash("sha256").update(text).digest("hex")';

describe("the link of a guest", () => {
  it("reads long frames between short ones in their order", async () => {
    await using guest = await GuestProcess.start();
    const runs: { expected: string; outcome: ReturnType<GuestProcess["run"]> }[] = [];
    // A socket holds some 200 KiB.
    for (const bytes of [1, 70_000, 90_000, 3, 400_000, 2_000_000, 10, 32_768, 32_768, 1_000_000, 65_536]) {
      const text = randomBytes(bytes).toString("hex");
      const packagesId = guest.packages(artefactWith(text));
      const expected = createHash("sha256").update(text).digest("hex");
      runs.push({ expected, outcome: guest.run(HASH, {}, { packagesId }) });
    }
    for (const { expected, outcome } of runs) assert.equal((await outcome).result, JSON.stringify(expected));
  });
});
