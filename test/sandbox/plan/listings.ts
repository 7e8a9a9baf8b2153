import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";

import type { Architecture } from "../../../src/sandbox/seccomp/system-calls.ts";

/** The programs of binutils, with Debian's names. */
const TOOLS: Readonly<Record<Architecture, { prefix: string; args: readonly string[]; head: string }>> = {
  x64: { prefix: "x86_64-linux-gnu-", args: ["--64"], head: ".intel_syntax noprefix\n" },
  arm64: { prefix: "aarch64-linux-gnu-", args: [], head: "" },
};

/** Assembles the instructions of a listing with the assembler of the architecture. */
export async function assemble(t: TestContext, architecture: Architecture, listing: string): Promise<Buffer> {
  const { prefix, args, head } = TOOLS[architecture];
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-listing-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [source, object, code] = ["code.s", "code.o", "code.bin"].map((name) => path.join(folder, name));
  const lines = listing.trim().split("\n");
  const instructions = lines.map((line) => line.trim().replace(/^(?:[0-9a-f]{2} )+ +/, ""));
  await writeFile(source!, `${head}${instructions.join("\n")}\n`);
  await promisify(execFile)(`${prefix}as`, [...args, "-o", object!, source!]);
  await promisify(execFile)(`${prefix}objcopy`, ["-O", "binary", "-j", ".text", object!, code!]);
  return readFile(code!);
}

/** Returns why a listing cannot be assembled here, or false. */
export function whyNoAssembler(architecture: Architecture): string | false {
  try {
    execFileSync(`${TOOLS[architecture].prefix}as`, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return `there is no assembler for ${architecture} on this system`;
  }
}
