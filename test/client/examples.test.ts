import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";

import { transform } from "esbuild";

import { type Service, shareService } from "../contract/service.ts";
import { EXAMPLE_PAGES, examplesOf, expectedOutput } from "./examples.ts";

const execute = promisify(execFile);
const PINNED = path.join(import.meta.dirname, "../../node_modules/.bin");

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** Returns the Node of the machine, which may be older than the one that the project pins. */
async function nodes(): Promise<{ name: string; file: string }[]> {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.resolve(folder) !== PINNED);
  const options = { env: { ...process.env, PATH: folders.join(path.delimiter) } };
  const { stdout } = await execute("node", ["-p", "process.execPath + ' ' + process.version"], options).catch(() => ({
    stdout: "",
  }));
  const [file = "", version = ""] = stdout.trim().split(" ");
  const own = { name: `Node ${process.version}`, file: process.execPath };
  return Number.parseInt(version.slice(1)) >= 20 && version !== process.version
    ? [own, { name: `Node ${version}`, file }]
    : [own];
}

for (const { name, file } of await nodes()) {
  it(`the examples of the pages print what they say, in ${name}`, async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-examples-"));
    const installed = path.join(folder.path, "node_modules/@caisson/client");
    mkdirSync(installed, { recursive: true });
    for (const part of ["package.json", "dist"])
      cpSync(path.join("client", part), path.join(installed, part), { recursive: true });
    for (const page of EXAMPLE_PAGES) {
      const { prelude, blocks } = examplesOf(page);
      assert.ok(blocks.length >= 5, page);
      // Each example has separate names.
      const text = [prelude, ...blocks.map((block) => `{\n${block}\n}`)].join("\n");
      const { code } = await transform(text.replaceAll("http://127.0.0.1:7070", service.url), { loader: "ts" });
      const program = path.join(folder.path, `${path.basename(page)}.mjs`);
      writeFileSync(program, code);
      const { stdout } = await execute(file, [program], { env: { ...process.env, CAISSON_TOKEN: service.admin } });
      const expected = blocks.flatMap(expectedOutput);
      const printed = stdout.split("\n").filter((line) => expected.includes(line));
      assert.deepEqual(printed, expected, `${page} printed:\n${stdout}`);
    }
  });
}
