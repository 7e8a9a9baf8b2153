import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";

import { machineCode } from "../../../src/sandbox/plan/listing.ts";
import { PLAYER_LISTINGS, playerProgram } from "../../../src/sandbox/plan/player.ts";
import type { Architecture } from "../../../src/sandbox/system-calls.ts";

/** Of binutils, as Debian names them. */
const TOOLS: Readonly<Record<Architecture, { prefix: string; words: readonly string[]; head: string }>> = {
  x64: { prefix: "x86_64-linux-gnu-", words: ["--64"], head: ".intel_syntax noprefix\n" },
  arm64: { prefix: "aarch64-linux-gnu-", words: [], head: "" },
};

/** The right-hand side of a listing, by the assembler of that architecture. */
async function assemble(t: TestContext, architecture: Architecture): Promise<Buffer> {
  const { prefix, words, head } = TOOLS[architecture];
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-listing-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [source, object, code] = ["player.s", "player.o", "player.bin"].map((name) => path.join(folder, name));
  const lines = PLAYER_LISTINGS[architecture].trim().split("\n");
  const said = lines.map((line) => line.trim().replace(/^(?:[0-9a-f]{2} )+ +/, ""));
  await writeFile(source!, `${head}${said.join("\n")}\n`);
  await promisify(execFile)(`${prefix}as`, [...words, "-o", object!, source!]);
  await promisify(execFile)(`${prefix}objcopy`, ["-O", "binary", "-j", ".text", object!, code!]);
  return readFile(code!);
}

function missing(architecture: Architecture): string | false {
  try {
    execFileSync(`${TOOLS[architecture].prefix}as`, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `there is no assembler for ${architecture} on this system`;
  }
}

for (const architecture of ["x64", "arm64"] as const) {
  describe(`the player for ${architecture}`, () => {
    it("has the bytes that its listing says", { skip: missing(architecture) }, async (t) => {
      const code = machineCode(PLAYER_LISTINGS[architecture]);
      assert.equal((await assemble(t, architecture)).toString("hex"), code.toString("hex"));
      assert.ok(code.length > 100);
    });

    it("is a file whose code cannot be written and whose plan and stack cannot be executed", () => {
      const file = playerProgram(architecture);
      assert.ok(file.length < 512);
      assert.equal(file.readUInt16LE(18), architecture === "x64" ? 62 : 183);
      const segments = [0, 1, 2].map((index) => file.subarray(64 + index * 56, 64 + (index + 1) * 56));
      const rights = segments.map((segment) => segment.readUInt32LE(4));
      assert.deepEqual(rights, [5, 6, 6]);
      const start = file.readBigUInt64LE(24) - segments[0]!.readBigUInt64LE(16);
      assert.equal(
        file.subarray(Number(start)).toString("hex"),
        machineCode(PLAYER_LISTINGS[architecture]).toString("hex"),
      );
    });
  });
}
