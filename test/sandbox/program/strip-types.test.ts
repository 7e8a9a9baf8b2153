import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

const ROOT = path.join(import.meta.dirname, "../../..");
const SOURCE = "const answer: number = 6 * 7;";
const STRIPPED = "const answer         = 6 * 7;";
const PROGRAM = `
  import { strip } from ${JSON.stringify(path.join(ROOT, "src/sandbox/program/strip-types.ts"))};
  process.stdout.write(await strip(${JSON.stringify(SOURCE)}));`;

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "caisson-strip-"));
});
after(() => rm(folder, { recursive: true }));

/** What a process strips that keeps what it compiles in a folder, or keeps nothing. */
function strip(cache: string | undefined): string {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROGRAM];
  const { stdout, stderr } = spawnSync(process.execPath, words, {
    encoding: "utf8",
    env: cache === undefined ? env : { ...env, NODE_COMPILE_CACHE: cache },
  });
  assert.equal(stderr, "");
  return stdout;
}

async function keptIn(cache: string): Promise<string[]> {
  const names = await readdir(cache, { recursive: true });
  const files = names.filter((name) => path.basename(path.dirname(name)) === "stripped");
  return files.map((name) => path.join(cache, name));
}

describe("a module without its types", () => {
  it("is the same where it is kept and where it is not, and is closed to other users", async () => {
    const cache = path.join(folder, "kept");
    assert.deepEqual([strip(undefined), strip(cache), strip(cache)], [STRIPPED, STRIPPED, STRIPPED]);
    const [file, ...more] = await keptIn(cache);
    assert.deepEqual(more, []);
    assert.equal((await stat(file!)).mode & 0o777, 0o600);
    assert.equal((await stat(path.dirname(file!))).mode & 0o777, 0o700);
  });

  it("is taken from where it is kept, and made again where that is cut", async () => {
    const cache = path.join(folder, "cut");
    strip(cache);
    const [file] = await keptIn(cache);
    const whole = await readFile(file!);
    for (const length of [0, 64, whole.length - 1]) {
      await writeFile(file!, whole.subarray(0, length));
      assert.equal(strip(cache), STRIPPED, `${length} bytes`);
      assert.deepEqual(await readFile(file!), whole);
    }
  });

  it("is made where nothing can be kept", async () => {
    const cache = path.join(folder, "file");
    await writeFile(cache, "");
    assert.equal(strip(cache), STRIPPED);
  });
});
