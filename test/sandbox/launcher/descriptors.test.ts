import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { descriptorLimit } from "../../../src/sandbox/launcher/descriptors.ts";

const MODULE = path.join(import.meta.dirname, "../../../src/sandbox/launcher/descriptors.ts");
/** Node itself sees to the first sixteen. */
const DESCRIPTOR = 40;
const PROBE = `
  const { closeInheritedDescriptors } = await import(${JSON.stringify(MODULE)});
  if (process.argv[1] === "close") closeInheritedDescriptors();
  const { fstatSync } = await import("node:fs");
  try { fstatSync(${DESCRIPTOR}); console.log("open") } catch (error) { console.log(error.code) }
`;

/** Started with a file open, says whether it still can be read. */
async function probe(what: string): Promise<string> {
  const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROBE, what];
  const file = openSync("/etc/hostname", "r");
  const others = Array.from({ length: DESCRIPTOR - 3 }, () => "ignore" as const);
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit", ...others, file] });
  closeSync(file);
  return (await text(child.stdout!)).trim();
}

describe("closeInheritedDescriptors", () => {
  it("closes what the process was started with", async () => {
    assert.equal(await probe("keep"), "open");
    assert.equal(await probe("close"), "EBADF");
  });
});

describe("descriptorLimit", () => {
  it("is what the kernel says", () => {
    assert.ok(descriptorLimit()! >= 64);
  });
});
