import assert from "node:assert/strict";
import { test } from "node:test";

import { type SecretFlags, secretsOf } from "../../src/cli/tokens/secret-flags.ts";

const FILES: Readonly<Record<string, Uint8Array | string>> = {
  "/plain": "p4ss",
  "/ended": "p4ss\n",
  "/windows": "p4ss\r\n",
  "/lines": "\ufeffone\ntwo\n\n",
  "/binary": Uint8Array.of(0xff, 0xfe),
  "-": "from stdin\n",
};

async function read(flags: SecretFlags): Promise<[unknown, string[]]> {
  const faults: string[] = [];
  const sources = {
    environment: { TOKEN: "of the environment", EMPTY: "" },
    read: async (path: string): Promise<Buffer> => {
      const found = FILES[path];
      if (found === undefined) throw new Error(`no such file: ${path}`);
      return Buffer.from(found as string);
    },
  };
  return [await secretsOf(flags, sources, (text) => faults.push(text)), faults];
}

test("a secret has the value of its flag, or of the environment variable of its name", async () => {
  assert.deepEqual(await read({}), [undefined, []]);
  const secret = ["A=a=b", "TOKEN", "EMPTY", "B="];
  assert.deepEqual(await read({ secret }), [{ A: "a=b", TOKEN: "of the environment", EMPTY: "", B: "" }, []]);
});

test("a secret of a file has no final line end, and - is stdin", async () => {
  const secretFile = ["A=/plain", "B=/ended", "C=/windows", "D=/lines", "E=-"];
  const secrets = { A: "p4ss", B: "p4ss", C: "p4ss", D: "\ufeffone\ntwo\n", E: "from stdin", F: "f" };
  assert.deepEqual(await read({ secret: ["F=f"], secretFile }), [secrets, []]);
});

test("each invalid flag is reported, without values", async () => {
  const [, faults] = await read({
    secret: ["s3cr3t-without-key", "=s3cr3t", "A=s3cr3t"],
    secretFile: ["A=/plain", "B", "=/plain", "C=/none", "D=/binary", "E=-", "F=-"],
  });
  assert.deepEqual(
    faults.map(
      (text) =>
        /number 1 has no value|must be KEY=|may use - only once|C cannot|D is not UTF-8|"A" more/.exec(text)?.[0],
    ),
    [
      "number 1 has no value",
      "must be KEY=",
      "may use - only once",
      "must be KEY=",
      "must be KEY=",
      "C cannot",
      "D is not UTF-8",
      '"A" more',
    ],
  );
  assert.ok(!faults.join().includes("s3cr3t"));
});
