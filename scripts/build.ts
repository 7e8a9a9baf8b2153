/** Bundles the service into `dist/`, if it has changed since the last build. A start from there takes half the time. */
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import http from "node:http";
import path from "node:path";

import { build, type Plugin } from "esbuild";

import { programText } from "../src/builder/program-text.ts";
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
  "src/http/mcp/schema-thread.ts",
];
const SOURCES = ["src/**/*.ts", "client/src/**/*.ts", "package.json", "package-lock.json", "scripts/build.ts"];
/** The file of another package that the program of builders contains. */
const BUILDER_API = "node_modules/esbuild/lib/main.js";
/** Written last, so that an interrupted build is done again. */
const STAMP = path.join(OUT, "built");
/** Some dependencies are CommonJS modules, which call `require` for Node's modules. */
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);';

/** Replaces the functions that bundle the program of guests and the program of builders by their results. */
const guestPrograms: Plugin = {
  name: "guest-programs",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/builder\/program-text\.ts$/ }, async () => ({
      contents: `const text = ${JSON.stringify(await programText())}; export const programText = async () => text;`,
    }));
    bundler.onLoad({ filter: /\/program-texts\.ts$/ }, async () => ({
      contents: `const texts = ${JSON.stringify(await programTexts())}; export const programTexts = async () => texts;`,
    }));
  },
};

/** Leaves out the schema validators of the MCP library, which are as large as the rest of it. The service uses none of them. */
const noValidator: Plugin = {
  name: "no-validator",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/@modelcontextprotocol\/server\/dist\/shimsNode\.mjs$/ }, () => ({
      contents: 'export class DefaultJsonSchemaValidator {} export { default as process } from "node:process";',
    }));
  },
};

/** Leaves out the translations of zod's messages, which are a tenth of the bundle. The service has its own messages. */
const englishOnly: Plugin = {
  name: "english-only",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/**
 * Takes `node:http` from Node's own table of modules. An import of it reads all its members, and one of them loads Node's
 * implementation of fetch, which takes as much time as the start of Node.
 */
const httpWithoutFetch: Plugin = {
  name: "http-without-fetch",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === "import-statement" ? { path: "node:http", namespace: "built-in" } : undefined,
    );
    bundler.onLoad({ filter: /^node:http$/, namespace: "built-in" }, () => {
      const members = Object.entries(Object.getOwnPropertyDescriptors(http));
      const names = members.filter(([, member]) => member.get === undefined).map(([name]) => name);
      return {
        contents: `const http = process.getBuiltinModule("node:http"); export default http; export const { ${names.join(", ")} } = http;`,
      };
    });
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
  const { outputFiles, metafile } = await build({
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
    plugins: [guestPrograms, httpWithoutFetch, englishOnly, noValidator],
    write: false,
    metafile: true,
  });
  mkdirSync(OUT, { recursive: true });
  // Each file is replaced as a whole, because another start may read it at this moment.
  for (const { path: file, text, contents } of outputFiles) {
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, file.endsWith(".js") ? asAscii(text) : contents);
    renameSync(unfinished, file);
  }
  writeFileSync(path.join(OUT, "licenses.txt"), licensesOf([...Object.keys(metafile.inputs), BUILDER_API]));
  writeFileSync(path.join(OUT, "package.json"), '{ "type": "module" }\n');
  const made = new Set(outputFiles.map(({ path: file }) => path.basename(file)));
  for (const name of globSync("*.js", { cwd: OUT })) if (!made.has(name)) rmSync(path.join(OUT, name), { force: true });
  writeFileSync(STAMP, "");
  // A file that changes during a build is newer than the build.
  utimesSync(STAMP, begunMs / 1_000, begunMs / 1_000);
}

/**
 * Escapes what esbuild leaves in comments and regular expressions. V8 would keep a file with any other character in twice the
 * memory.
 */
function asAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns the licenses of the packages that these files belong to. They require that copies contain them. */
function licensesOf(files: readonly string[]): string {
  const folders = new Set(files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? ""));
  folders.delete("");
  const texts = [...folders].toSorted().map((folder) => {
    const manifest = JSON.parse(readFileSync(path.join(ROOT, folder, "package.json"), "utf8")) as Manifest;
    const [file] = globSync("{LICENSE,LICENCE,license}*", { cwd: path.join(ROOT, folder) });
    const text = file === undefined ? "" : readFileSync(path.join(ROOT, folder, file), "utf8").trim();
    return `${manifest.name} ${manifest.version} (${manifest.license})\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}
