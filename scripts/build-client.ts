/** Builds `client/dist/`, if the client has changed since the last build: one module for every platform, and its types. */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build } from "esbuild";

const ROOT = path.dirname(import.meta.dirname);
const CLIENT = path.join(ROOT, "client");
const OUT = path.join(CLIENT, "dist");
const SOURCES = [
  "client/src/**/*.ts",
  "client/*.json",
  "tsconfig.json",
  "package-lock.json",
  "scripts/build-client.ts",
];
/** Written last, so that an interrupted build is done again. */
const STAMP = path.join(OUT, "built");

if (!isCurrent()) await make();

function isCurrent(): boolean {
  if (!existsSync(STAMP)) return false;
  const builtMs = statSync(STAMP).mtimeMs;
  return globSync(SOURCES, { cwd: ROOT }).every((file) => statSync(path.join(ROOT, file)).mtimeMs < builtMs);
}

async function make(): Promise<void> {
  const begunMs = Date.now();
  // A separate folder, because a test may read the build before at this moment.
  const unfinished = `${OUT}.${process.pid}`;
  await build({
    absWorkingDir: CLIENT,
    entryPoints: ["src/index.ts"],
    outdir: unfinished,
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    // The types have the comments. Names stay, for stacks of errors.
    minifySyntax: true,
    minifyWhitespace: true,
    // Node prints the line of an error that nothing catches, in front of its message.
    lineLimit: 160,
  });
  const words = ["-p", CLIENT, "--noEmit", "false", "--emitDeclarationOnly", "--outDir", unfinished];
  const { status, error } = spawnSync(path.join(ROOT, "node_modules/.bin/tsc"), words, { stdio: "inherit" });
  if (status !== 0) {
    if (error)
      console.error(`caisson: the client was not built, because tsc is missing; run npm run setup (${error.message})`);
    rmSync(unfinished, { recursive: true, force: true });
    process.exit(1);
  }
  writeFileSync(path.join(unfinished, "built"), "");
  // A file that changes during a build is newer than the build.
  utimesSync(path.join(unfinished, "built"), begunMs / 1_000, begunMs / 1_000);
  rmSync(OUT, { recursive: true, force: true });
  renameSync(unfinished, OUT);
}
