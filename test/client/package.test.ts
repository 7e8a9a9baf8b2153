import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";
import { gzipSync } from "node:zlib";

import { clientTypes } from "../../scripts/client-types.ts";
import { examplesOf, EXAMPLE_PAGES } from "./examples.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const MAX_GZIP_BYTES = 10_000;

it("client/src/api-types.ts is up to date with the OpenAPI document", async () => {
  assert.equal(await readFile("client/src/api-types.ts", "utf8"), clientTypes(), "run npm run docs");
});

it("the built client is one file below 10 KB (gzip), without dependencies", () => {
  const built = readFileSync("client/dist/index.js");
  assert.ok(gzipSync(built).length < MAX_GZIP_BYTES, `${gzipSync(built).length} bytes`);
  assert.doesNotMatch(built.toString(), /^import\b|\bimport\(|\brequire\(/m);
  const manifest = JSON.parse(readFileSync("client/package.json", "utf8")) as Record<string, unknown>;
  assert.deepEqual([manifest["dependencies"], manifest["peerDependencies"]], [undefined, undefined]);
});

it("the message of an error that nothing catches is not below a screen of code", () => {
  const built = path.join(ROOT, "client/dist/index.js");
  const programs = [
    "new Caisson({ adress: 1 })",
    'await new Caisson({ url: "http://127.0.0.1:1", token: "a" }).run("demo")',
    'await new Caisson({ url: "http://127.0.0.1:1", token: "a", fetch: async () => { throw new Error("x") } }).run("demo", "1")',
  ];
  for (const program of programs) {
    const text = `import { Caisson } from ${JSON.stringify(built)}; ${program}`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", text], { encoding: "utf8" });
    const before = stderr.slice(0, stderr.search(/^(?:TypeError|CaissonError)/m));
    assert.match(stderr, /^(?:TypeError|CaissonError)/m);
    assert.ok(before.length < 1_500, `${before.length} characters`);
  }
});

it("the package has the built file, its types and its page, and nothing else", () => {
  const { stdout, stderr } = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: path.join(ROOT, "client"),
    encoding: "utf8",
  });
  const [{ files }] = Object.values(JSON.parse(stdout) as object) as [{ files: { path: string }[] }];
  const others = files.map((file) => file.path).filter((file) => !/^dist\/.*\.d\.ts$/.test(file));
  assert.deepEqual(others.toSorted(), ["README.md", "dist/index.js", "package.json"], stderr);
});

/** A program that compiles only if the types of the methods are those of the OpenAPI document. */
const TYPED = `
import { Caisson, CaissonError, type AnsweredRunRecord, type Task } from "@caisson/client";
const caisson = new Caisson({ url: new URL("http://localhost"), token: async () => "", retry: { limited: true } });
const n: number = await caisson.run<number>("a", "1", { timeout: 5, query: { a: ["1", 2, true] } });
const record: AnsweredRunRecord = await caisson.record("a", { task: "t" }, { maxResult: "max" });
const status: "ok" | "threw" = record.status as "ok" | "threw";
for await (const task of caisson.tasks.list("a", { label: ["team=x"] })) task.name satisfies string;
const task: Task = await caisson.tasks.put("a", "b", { code: "1", limits: null, net: null, labels: { a: "b" } });
const left: number = (await caisson.limits.getContainer("a")).minute;
const limit: number | null = (await caisson.limits.getContainer("a", { detail: true })).minute.limit;
await caisson.tokens.issue({ containers: ["a"], can: ["run"], limits: { token: { minute: 1 } } });
await caisson.containers.update("a", { labels: { team: null }, limits: { minute: null } });
for await (const event of caisson.runs.follow("a")) if (event.type === "console") event.run satisfies string;
for await (const event of caisson.stream<string>("a", "1")) if (event.type === "result") event.value satisfies string;
new CaissonError({ code: "unreachable", detail: "" }).at?.line satisfies number | undefined;
// @ts-expect-error no such verb
await caisson.tokens.issue({ containers: ["a"], can: ["ruin"] });
// @ts-expect-error no such window
await caisson.containers.set("a", { limits: { minutes: 1 } });
// @ts-expect-error no such option
await caisson.run("a", "1", { timout: 5 });
// @ts-expect-error no such filter
caisson.runs.list({ containr: "a" });
// @ts-expect-error no such member
task.codes;
export { n, status, left, limit };
`;

it("programs compile against the published types, in every way that TypeScript resolves packages", async () => {
  await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-client-"));
  const installed = path.join(folder.path, "node_modules/@caisson/client");
  mkdirSync(installed, { recursive: true });
  for (const name of ["package.json", "dist"])
    cpSync(path.join("client", name), path.join(installed, name), { recursive: true });
  writeFileSync(path.join(folder.path, "package.json"), '{ "type": "module" }');
  writeFileSync(path.join(folder.path, "typed.ts"), TYPED);
  EXAMPLE_PAGES.forEach((page, at) => {
    const { prelude, blocks } = examplesOf(page);
    blocks.forEach((block, index) => {
      const text = `declare const process: { env: Record<string, string | undefined> };\n${prelude}\n${block}`;
      writeFileSync(path.join(folder.path, `example-${at}-${index}.ts`), text);
    });
  });
  for (const [module, resolution] of [
    ["nodenext", "nodenext"],
    ["preserve", "bundler"],
  ] as const) {
    const options = {
      ...{ module, moduleResolution: resolution, target: "es2022", noEmit: true, types: [] },
      ...{ lib: ["es2022", "dom", "dom.iterable"], strict: true, exactOptionalPropertyTypes: true },
    };
    writeFileSync(path.join(folder.path, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
    const { status, stdout } = spawnSync(path.join(ROOT, "node_modules/.bin/tsc"), ["-p", folder.path], {
      encoding: "utf8",
    });
    assert.equal(status, 0, `${resolution}: ${stdout}`);
  }
});
