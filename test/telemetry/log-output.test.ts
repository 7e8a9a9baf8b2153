import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { LogOutput } from "../../src/telemetry/log-output.ts";

const folder = mkdtempSync(path.join(tmpdir(), "log-output-"));
after(() => rmSync(folder, { recursive: true }));

/** Opens a named pipe whose two ends never block. */
function openPipe(name: string): { reader: number; writer: number } {
  const file = path.join(folder, name);
  execFileSync("mkfifo", [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(file, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/** Reads what the pipe has. */
function read(reader: number): string {
  const buffer = Buffer.alloc(1 << 20);
  let text = "";
  for (;;) {
    let bytes;
    try {
      bytes = readSync(reader, buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return text;
      throw error;
    }
    if (bytes === 0) return text;
    text += buffer.toString("latin1", 0, bytes);
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await wait(10);
}

/** A line of ten thousand bytes that begins with its number. */
function numbered(number: number): string {
  return `${String(number).padEnd(9_999, ".")}\n`;
}

function numbersIn(text: string): number[] {
  return text
    .split("\n")
    .filter((line) => /^\d+\./.test(line))
    .map((line) => Number.parseInt(line, 10));
}

it("a reader that stalls costs the lines after 8 MiB, and a line has their number", async () => {
  const { reader, writer } = openPipe("stalled");
  const output = new LogOutput(writer);
  for (let number = 0; number < 1_000; number++) output.write(numbered(number));
  const { dropped, failure } = output.losses;
  assert.equal(failure, null);
  assert.ok(dropped >= 155 && dropped < 170, `${dropped} dropped`);
  let text = "";
  await until(() => {
    text += read(reader);
    return text.length === (1_000 - dropped) * 10_000;
  });
  output.write(numbered(1_000));
  await until(() => {
    text += read(reader);
    return text.includes("1000.");
  });
  const kept = Array.from({ length: 1_000 - dropped }, (_, number) => number);
  assert.deepEqual(numbersIn(text), [...kept, 1_000]);
  const counted = text.split("\n").find((line) => line.startsWith("{"))!;
  assert.match((JSON.parse(counted) as { msg: string }).msg, new RegExp(`^${dropped} lines of the log were left out`));
  assert.equal(output.losses.dropped, dropped);
  closeSync(reader);
  closeSync(writer);
});

it("a reader that has gone costs all lines, and writes go on without an error", async () => {
  const { reader, writer } = openPipe("gone");
  const output = new LogOutput(writer);
  closeSync(reader);
  output.write("one\n");
  output.write("two\n");
  await until(() => output.losses.failure !== null);
  assert.match(output.losses.failure!, /EPIPE/);
  output.write("three\n");
  assert.equal(output.losses.dropped, 3);
  output.flush();
  closeSync(writer);
});

it("a full disk costs no line below the bound, and is named as the failure", async () => {
  const full = openSync("/dev/full", "w");
  const output = new LogOutput(full);
  output.write("one\n");
  await until(() => output.losses.failure !== null);
  assert.match(output.losses.failure!, /ENOSPC/);
  assert.equal(output.losses.dropped, 0);
  output.flush();
  closeSync(full);
});

it("lines that wait at the end of the process are written once each", async () => {
  const { reader, writer } = openPipe("last");
  const output = new LogOutput(writer);
  for (let number = 0; number < 4; number++) output.write(numbered(number));
  output.flush();
  let text = "";
  // The first line may come last, because another thread writes it.
  await until(() => {
    text += read(reader);
    return numbersIn(text).length >= 4;
  });
  assert.deepEqual(new Set(numbersIn(text)), new Set([0, 1, 2, 3]));
  assert.equal(numbersIn(text).length, 4);
  closeSync(reader);
  closeSync(writer);
});

it("a process ends although its log is not read", async () => {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "log-lines.ts"), "info", "flood"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0);
  child.stderr.destroy();
});
