import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtempDisposable, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { certificateFiles } from "../../../src/sandbox/launcher/certificate-files.ts";
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

/** Waits for the thread, and prints whether its file is still open. */
const READS = `
  const { closeInheritedDescriptors } = await import(${JSON.stringify(MODULE)});
  // Node starts the thread with this module.
  await import("node:tls");
  const { readdirSync, readlinkSync } = await import("node:fs");
  const target = (descriptor) => { try { return readlinkSync("/proc/self/fd/" + descriptor) } catch { return null } };
  const isOpen = () => readdirSync("/proc/self/fd").some((each) => target(each) === process.env.FIFO);
  while (!isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
  closeInheritedDescriptors();
  console.log(isOpen());
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

  for (const [how, variable, more] of [
    ["NODE_EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS", {}],
    ["--use-system-ca", "SSL_CERT_FILE", { NODE_OPTIONS: "--use-system-ca" }],
    ["NODE_USE_SYSTEM_CA", "SSL_CERT_FILE", { NODE_USE_SYSTEM_CA: "1" }],
  ] as const) {
    it(`leaves the file of certificates open, which a thread of Node reads meanwhile: ${how}`, async () => {
      await using folder = await mkdtempDisposable(path.join(tmpdir(), "certificates-"));
      const fifo = path.join(await realpath(folder.path), "fifo.pem");
      execFileSync("mkfifo", [fifo]);
      // With a writer, the thread can open the file, and waits for its content.
      const writer = openSync(fifo, "r+");
      const none = path.join(folder.path, "none");
      const child = spawn(
        process.execPath,
        ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", READS],
        {
          stdio: ["ignore", "pipe", "inherit"],
          env: {
            ...process.env,
            ...{ NODE_EXTRA_CA_CERTS: "", SSL_CERT_FILE: none, SSL_CERT_DIR: none, FIFO: fifo },
            ...more,
            [variable]: fifo,
          },
        },
      );
      const [printed] = (await once(child.stdout, "data")) as [Buffer];
      closeSync(writer);
      assert.equal(printed.toString().trim(), "true");
      await once(child, "exit");
    });
  }
});

describe("certificateFiles", () => {
  it("has the files of a folder by their real paths, if an option makes Node use the certificates of the system", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "certificates-"));
    const real = path.join(await realpath(folder.path), "real.pem");
    await writeFile(real, "");
    const links = path.join(folder.path, "links");
    await mkdir(links);
    await symlink(real, path.join(links, "link.pem"));
    const env = { SSL_CERT_DIR: `/none:${links}`, SSL_CERT_FILE: "/none" };
    assert.deepEqual([...certificateFiles(env, ["--use-system-ca"])], [real]);
    assert.deepEqual([...certificateFiles({ ...env, NODE_OPTIONS: "--use_system_ca" }, [])], [real]);
    assert.deepEqual([...certificateFiles(env, [])], []);
  });
});

describe("descriptorLimit", () => {
  it("returns the kernel's limit", () => {
    assert.ok(descriptorLimit()! >= 64);
  });
});
