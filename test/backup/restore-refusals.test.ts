import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";

import { restore as restoreHere } from "../../src/backup/restore.ts";
import { writeHeader } from "../../src/backup/tar-header.ts";
import { ConfigError } from "../../src/config/read.ts";
import { command, type Ended } from "../cli/command.ts";
import { type Home, makeHome, NO_WALL, startService } from "../contract/service.ts";

let home: Home;
/** A backup without a fault. */
let whole: Buffer;
let folder: string;

before(async () => {
  home = await makeHome();
  folder = path.dirname(home.data);
  const service = await startService(NO_WALL, home);
  await service.run("demo", "1");
  await service.stop();
  const { code, stderr } = await command(["backup", "--data", home.data, "--to", path.join(folder, "whole.tar")]);
  assert.deepEqual([code, stderr], [0, ""]);
  whole = await readFile(path.join(folder, "whole.tar"));
});
after(() => home[Symbol.asyncDispose]());

const target = (): string => path.join(folder, "restored");

/** Restores a file into a folder that does not exist. */
async function restore(tar: Buffer): Promise<Ended> {
  const file = path.join(folder, "given.tar");
  await writeFile(file, tar);
  return await command(["restore", "--from", file, "--data", target()]);
}

/** Asserts that the file is refused for this reason and that the folder is as if nothing had happened. */
async function refused(tar: Buffer, reason: RegExp): Promise<void> {
  const [cwd, empty] = [process.cwd(), path.join(folder, "empty")];
  mkdirSync(empty, { recursive: true });
  // The command enters the folder, too. A process for each file would take most of the time of these tests.
  process.chdir(empty);
  try {
    await assert.rejects(restoreHere(Readable.from([tar])), (error: Error) => {
      assert.ok(error instanceof ConfigError, error.stack);
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(readdirSync("."), []);
  } finally {
    process.chdir(cwd);
  }
}

function entry(name: string, content = "x"): Buffer {
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([writeHeader({ name, bytes: content.length }, 0), body]);
}

/** The first entry of the backup, which describes it, and the rest. */
function split(): [Buffer, Buffer] {
  return [whole.subarray(0, 1_024), whole.subarray(1_024)];
}

/** Changes a header as a writer of hostile tars does: with the correct checksum. */
function headerWith(name: string, change: (header: Buffer) => void): Buffer {
  const header = writeHeader({ name, bytes: 0 }, 0);
  change(header);
  header.fill(" ", 148, 156);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

describe("restore refuses, and changes nothing:", () => {
  const names = [
    "../escaped",
    "/tmp/escaped",
    "limits/../../escaped",
    "limits/journal-1/x",
    "lock",
    "runs/x.sqlite",
    "",
  ];
  for (const name of names) {
    it(`an entry with the name ${JSON.stringify(name)}`, async () => {
      const [about, rest] = split();
      await refused(Buffer.concat([about, entry(name), rest]), /the entry ".*" is no part of a backup of caisson/);
      assert.ok(!existsSync(path.join(folder, "escaped")) && !existsSync("/tmp/escaped"));
    });
  }

  const kinds = { "a symbolic link": "2", "a hard link": "1", "a device": "3", "a folder": "5", "a name of pax": "x" };
  for (const [kind, type] of Object.entries(kinds)) {
    it(kind, async () => {
      const [about, rest] = split();
      const link = headerWith("keys.json", (header) => {
        header.write(type, 156);
        header.write("/etc/passwd", 157);
      });
      await refused(Buffer.concat([about, link, rest]), /the entry "keys.json" is not a plain file/);
    });
  }

  it("a name that a prefix continues", async () => {
    const [about, rest] = split();
    const prefixed = headerWith("keys.json", (header) => header.write("../..", 345));
    await refused(Buffer.concat([about, prefixed, rest]), /is not a plain file/);
  });

  it("an entry that is there twice", async () => {
    const [about, rest] = split();
    await refused(Buffer.concat([about, entry("keys.json"), rest]), /the entry keys.json is there twice/);
  });

  it("a size that the file does not have, or that is no number", async () => {
    const [about, rest] = split();
    const huge = headerWith("keys.json", (header) => header.fill(0xff, 128, 136).writeUInt32BE(0x80000000, 124));
    await refused(Buffer.concat([about, huge, rest]), /the size of an entry is invalid/);
    const large = writeHeader({ name: "keys.json", bytes: 2 ** 40 }, 0);
    await refused(Buffer.concat([about, large, rest]), /it ends too early/);
  });

  it("a file that is cut off, wherever it is cut", async () => {
    for (const length of [0, 100, 700, 1_024, 1_600, whole.length - 1_024, whole.length - 2_000]) {
      await refused(whole.subarray(0, length), /it ends (?:too early|before its checksums)|is not its first entry/);
    }
  });

  it("a changed byte in a header, in the checksums and in the content of every part", async () => {
    const listed = execFileSync("tar", ["-tf", path.join(folder, "whole.tar")], { encoding: "utf8" });
    for (const name of listed.trim().split("\n")) {
      const header = whole.indexOf(`${name}\0`);
      for (const at of [header, header + 512 + 3]) {
        const changed = Buffer.from(whole);
        changed[at]! ^= 4;
        await refused(
          changed,
          /is wrong|is missing|it is damaged|does not describe a backup|version \d+ of the format/,
        );
      }
    }
  });

  it("a backup without one of its parts, and one with more parts than checksums", async () => {
    const name = "secrets.key";
    const at = whole.indexOf(`${name}\0`);
    await refused(Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1_024)]), /a part is missing/);
    const [about, rest] = split();
    await refused(
      Buffer.concat([about, entry("limits/journal-77"), rest]),
      /the checksum of limits\/journal-77 is wrong/,
    );
  });

  it("a backup of a newer release", async () => {
    const text = whole.toString("latin1", 512, 1_024).replace(/\0+$/, "");
    const newer = text.replace('"tokens.sqlite": 1', '"tokens.sqlite": 9').replace('"0.1.0"', '"9.9.9"');
    const [, rest] = split();
    const reason =
      /caisson 9\.9\.9 made it with version 9 of the format of tokens\.sqlite, and this release reads versions up to 1/;
    await refused(Buffer.concat([entry("backup.json", newer), rest]), reason);
    const added = text.replace('"backup": 1', '"backup": 1, "sessions.sqlite": 1');
    await refused(Buffer.concat([entry("backup.json", added), rest]), /version 1 of the format of sessions\.sqlite/);
  });

  it("a file that does not exist, a folder, and a file that is something else", async () => {
    const missing = await command(["restore", "--from", path.join(folder, "none"), "--data", target()]);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /--from: \/.*none cannot be read \(ENOENT\)/);
    const dir = await command(["restore", "--from", folder, "--data", target()]);
    assert.equal(dir.code, 2);
    assert.match(dir.stderr, /is not a file/);
    await refused(Buffer.from("no tar ".repeat(1_000)), /it is not a tar, or it is damaged/);
    const { code, stdout, stderr } = await restore(execFileSync("gzip", ["-c"], { input: whole }));
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(
      stderr,
      /^caisson: --from: the file is no backup that can be restored: it is not a tar, or it is damaged$/m,
    );
    assert.deepEqual(await readdir(target()), ["lock"]);
  });

  it("a folder with a restore that was interrupted while it moved files, as a start does", async () => {
    assert.equal((await restore(whole)).code, 0);
    await mkdir(path.join(target(), "restore.unfinished"));
    const again = await restore(whole);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /is not empty/);
    const interrupted = { ...home, data: target() };
    await assert.rejects(startService(NO_WALL, interrupted), /has a restore that did not finish; delete what is in it/);
    const stopped = await command(["backup", "--data", target(), "--to", path.join(folder, "partial.tar")]);
    assert.equal(stopped.code, 4);
    await rm(target(), { recursive: true });
  });
});

it("restore continues after an attempt that was interrupted before it moved files", async () => {
  await mkdir(path.join(target(), "restore.unfinished/limits"), { recursive: true });
  await writeFile(path.join(target(), "restore.unfinished/keys.json"), "part");
  const { code, stderr } = await restore(whole);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok(!(await readdir(target())).includes("restore.unfinished"));
});
