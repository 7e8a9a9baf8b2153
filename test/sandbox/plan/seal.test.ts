import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { chmod, copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { machineCode } from "../../../src/sandbox/plan/listing.ts";
import { SEAL_LISTINGS, sealLibrary } from "../../../src/sandbox/plan/seal.ts";
import { sealFilter } from "../../../src/sandbox/seccomp/seccomp.ts";
import type { Architecture } from "../../../src/sandbox/seccomp/system-calls.ts";
import { assemble, whyNoAssembler } from "./listings.ts";

for (const architecture of ["x64", "arm64"] as const) {
  describe(`the seal for ${architecture}`, () => {
    it("has the bytes of its listing's instructions", { skip: whyNoAssembler(architecture) }, async (t) => {
      const code = machineCode(SEAL_LISTINGS[architecture]);
      const assembled = await assemble(t, architecture, SEAL_LISTINGS[architecture]);
      assert.equal(assembled.toString("hex"), code.toString("hex"));
    });

    it("has its filter directly after its code, where the code reads it", () => {
      const file = sealLibrary(architecture);
      const code = machineCode(SEAL_LISTINGS[architecture]);
      const filter = sealFilter(architecture);
      const at = file.indexOf(code) + code.length;
      assert.equal(Number(file.readBigUInt64LE(at)), filter.length / 8);
      assert.ok(file.subarray(at + 8).indexOf(filter) === 0);
      // The first instruction adds to its own address (arm64) or to the next instruction's address (x64).
      const offset = { x64: () => code.readUInt32LE(3) + 7, arm64: () => (code.readUInt32LE(0) >>> 3) & 0xfffc }[
        architecture
      ];
      assert.equal(offset(), code.length);
    });
  });
}

/** V8 maps its builtins a second time if it can read /proc/self/maps, which a guest cannot. */
const NO_REMAP = "--no-short-builtin-calls";
/** Prints the number of filters of the process, and the error of an attempt to execute another program. */
const REPORT = `
  const status = require("node:fs").readFileSync("/proc/self/status", "latin1");
  console.log(/^Seccomp_filters:\\s+(\\d+)$/m.exec(status)[1]);
  console.log(require("node:child_process").spawnSync("/bin/true").error?.code);
`;

describe("Node with the seal", { skip: process.platform !== "linux" }, () => {
  it("has one more filter, and cannot execute a program", async (t) => {
    const seal = await writeSeal(t);
    const own = await reportFilters();
    const sealed = await reportFilters(`LD_PRELOAD=${seal}`);
    assert.equal(own.filters + 1, sealed.filters);
    assert.deepEqual([own.error, sealed.error], ["undefined", "EPERM"]);
  });

  it("does not start if the kernel refuses the filter", { skip: process.getuid?.() !== 0 }, async (t) => {
    const seal = await writeSeal(t);
    // The kernel refuses a filter from a process that is neither root nor under no_new_privs.
    // A copy, because the checkout may be in a private folder of root.
    const node = path.join(path.dirname(seal), "node");
    await copyFile(process.execPath, node, constants.COPYFILE_FICLONE);
    const started = promisify(execFile)(node, ["-e", "1"], { env: { LD_PRELOAD: seal }, uid: 65_534 });
    await assert.rejects(started, ({ code }: { code: unknown }) => code === 191);
  });
});

async function writeSeal(t: { after: (clean: () => Promise<void>) => void }): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-seal-"));
  await chmod(folder, 0o755);
  t.after(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "seal.so");
  await writeFile(file, sealLibrary(process.arch as Architecture));
  return file;
}

async function reportFilters(...variables: string[]): Promise<{ filters: number; error: string }> {
  // `env`, because the variable would also seal setpriv.
  const args = ["--no-new-privs", "env", ...variables, process.execPath, NO_REMAP, "-e", REPORT];
  const { stdout } = await promisify(execFile)("setpriv", args);
  const [filters, error] = stdout.trim().split("\n");
  return { filters: Number(filters), error: error! };
}
