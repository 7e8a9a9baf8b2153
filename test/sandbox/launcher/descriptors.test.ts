import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { descriptorLimit } from "../../../src/sandbox/launcher/descriptors.ts";

const MODULE = path.join(import.meta.dirname, "../../../src/sandbox/launcher/descriptors.ts");
/** Above 15, because Node itself handles the first sixteen descriptors. */
const DESCRIPTOR = 40;
const PROBE = `
  const { closeInheritedDescriptors } = await import(${JSON.stringify(MODULE)});
  if (process.argv[1] === "close") closeInheritedDescriptors();
  const { fstatSync } = await import("node:fs");
  try { fstatSync(${DESCRIPTOR}); console.log("open") } catch (error) { console.log(error.code) }
`;

/** Starts a process with an open file. @returns whether the process can still use the file. */
async function probe(what: string): Promise<string> {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROBE, what];
  const file = openSync("/etc/hostname", "r");
  const others = Array.from({ length: DESCRIPTOR - 3 }, () => "ignore" as const);
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit", ...others, file] });
  closeSync(file);
  return (await text(child.stdout!)).trim();
}

describe("closeInheritedDescriptors", () => {
  it("closes inherited descriptors", async () => {
    assert.equal(await probe("keep"), "open");
    assert.equal(await probe("close"), "EBADF");
  });
});

describe("descriptorLimit", () => {
  it("returns the kernel's limit", () => {
    assert.ok(descriptorLimit()! >= 64);
  });
});
