/** Bundles the service into `dist/`, if it has changed since the last build. A start from there takes half the time. */
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build, type Plugin } from "esbuild";

import { programTexts } from "../src/sandbox/program/program-texts.ts";

const ROOT = path.dirname(import.meta.dirname);
const OUT = path.join(ROOT, "dist");
/** What Node starts: the command line, a process and three threads. Each finds the others in its own folder. */
const ENTRIES = [
  "src/main.ts",
  "src/sandbox/launcher/launcher-process.ts",
  "src/sandbox/confined/disk-check-thread.ts",
  "src/records/writer-thread.ts",
  "src/records/reader-thread.ts",
];
const SOURCES = ["src/**/*.ts", "package.json", "package-lock.json", "scripts/build.ts"];
/** Written last, so that an interrupted build is done again. */
const STAMP = path.join(OUT, "built");
/** Some dependencies are CommonJS modules, which call `require` for Node's modules. */
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);';

/** Replaces the function that bundles the guest program by its result. */
const guestProgram: Plugin = {
  name: "guest-program",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/program-texts\.ts$/ }, async () => ({
      contents: `const texts = ${JSON.stringify(await programTexts())}; export const programTexts = async () => texts;`,
    }));
  },
};

if (!isCurrent()) await make();

function isCurrent(): boolean {
  if (!existsSync(STAMP)) return false;
  const builtMs = statSync(STAMP).mtimeMs;
  return globSync(SOURCES, { cwd: ROOT }).every((file) => statSync(path.join(ROOT, file)).mtimeMs < builtMs);
}

async function make(): Promise<void> {
  const begunMs = Date.now();
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: OUT,
    entryNames: "[name]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    banner: { js: REQUIRE },
    legalComments: "linked",
    plugins: [guestProgram],
    write: false,
  });
  mkdirSync(OUT, { recursive: true });
  // Each file is replaced as a whole, because another start may read it at this moment.
  for (const { path: file, contents } of outputFiles) {
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, contents);
    renameSync(unfinished, file);
  }
  writeFileSync(path.join(OUT, "package.json"), '{ "type": "module" }\n');
  const made = new Set(outputFiles.map(({ path: file }) => path.basename(file)));
  for (const name of globSync("*.js", { cwd: OUT })) if (!made.has(name)) rmSync(path.join(OUT, name), { force: true });
  writeFileSync(STAMP, "");
  // A file that changes during a build is newer than the build.
  utimesSync(STAMP, begunMs / 1_000, begunMs / 1_000);
}
