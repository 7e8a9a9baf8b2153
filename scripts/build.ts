/** Bundles the service into `dist/`, if it has changed since the last build. A start from there takes half the time. */
import { hash } from "node:crypto";
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
import { isBuiltin } from "node:module";
import path from "node:path";

import { build, type Plugin, transform } from "esbuild";

import { programText } from "../src/builder/program-text.ts";
import { programTexts } from "../src/sandbox/program/program-texts.ts";

const ROOT = path.dirname(import.meta.dirname);
const OUT = path.join(ROOT, "dist");
/**
 * What Node starts: two programs that load a script, and threads. Each finds the others in its own folder. The text of the
 * program of builders is a separate module, because few services need it in their memory.
 */
const ENTRIES: Readonly<Record<string, string>> = {
  main: "src/built/main.ts",
  "launcher-process": "src/built/launcher-process.ts",
  "disk-check-thread": "src/sandbox/confined/disk-check-thread.ts",
  "writer-thread": "src/records/writer-thread.ts",
  "reader-thread": "src/records/reader-thread.ts",
  "schema-thread": "src/http/mcp/schema-thread.ts",
  "program-text": "src/builder/program-text.ts",
};
/** Each becomes one script, which a program loads with the code that V8 has compiled before (`src/built/load-program.ts`). */
const SCRIPTS: Readonly<Record<string, string>> = {
  program: "src/command-line.ts",
  "launcher-program": "src/sandbox/launcher/serve-launcher.ts",
};
const SOURCES = ["src/**/*.ts", "client/src/**/*.ts", "package.json", "package-lock.json", "scripts/build.ts"];
/** The file of another package that the program of builders contains. */
const BUILDER_API = "node_modules/esbuild/lib/main.js";
/** Written last, so that an interrupted build is done again. */
const STAMP = path.join(OUT, "built");
/** The texts of the guest program, by their files. */
const guestFiles = new Map<string, string>();

/** Replaces the functions that bundle the program of guests and the program of builders by their results. */
const guestPrograms: Plugin = {
  name: "guest-programs",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/builder\/program-text\.ts$/ }, async () => ({
      contents: `const text = ${JSON.stringify(await programText())}; export const programText = async () => text;`,
    }));
    // Files, because a module of this length takes 6 ms of each start.
    bundler.onLoad({ filter: /\/program-texts\.ts$/ }, async () => {
      const { main, program, worker } = await programTexts();
      const texts = { main: await dense(main), program: await dense(program), worker: await dense(worker) };
      const digest = hash("sha256", texts.main + texts.program);
      for (const [name, text] of Object.entries(texts)) guestFiles.set(path.join(OUT, `guest-${name}.txt`), text);
      const members = Object.keys(texts).map(
        (name) => `${name}: readFileSync(import.meta.dirname + "/guest-${name}.txt", "utf8")`,
      );
      return {
        contents: `import { readFileSync } from "node:fs"; export const programTexts = async () => ({ digest: "${digest}", ${members.join(", ")} });`,
      };
    });
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
 * Takes Node's modules from Node's own table. An import of them makes an ES module of each and reads all its members. One member of
 * `node:http` loads Node's implementation of fetch, which takes as much time as the start of Node.
 */
const builtIns: Plugin = {
  name: "built-ins",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^(?:node:)?[a-z_/0-9]+$/ }, ({ path: name, kind }) => {
      const bare = name.replace(/^node:/, "");
      // A function that is executed in another process imports what that process has.
      if (kind === "dynamic-import" || (!isBuiltin(bare) && !isBuiltin(`node:${bare}`))) return undefined;
      return { path: `node:${bare}`, namespace: kind === "require-call" ? "built-in-whole" : "built-in" };
    });
    bundler.onLoad({ filter: /./, namespace: "built-in-whole" }, ({ path: name }) => ({
      contents: `module.exports = process.getBuiltinModule("${name}");`,
    }));
    bundler.onLoad({ filter: /./, namespace: "built-in" }, ({ path: name }) => {
      const names = Object.keys(process.getBuiltinModule(name)!).filter((key) => key !== "default");
      // The bundler leaves out what is not imported, so that no other member is read: some load a module when they are read.
      const members = names.map((key) => `export const ${key} = /* @__PURE__ */ $read("${key}");`);
      return {
        contents: [
          `const $whole = process.getBuiltinModule("${name}"); const $read = (key) => $whole[key]; export default $whole;`,
          ...members,
        ].join("\n"),
      };
    });
  },
};

/** Leaves out comments. esbuild keeps those within classes, which were a tenth of the package. */
const withoutComments: Plugin = {
  name: "without-comments",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\.(?:ts|[cm]?js)$/ }, async ({ path: file }) => {
      const loader = file.endsWith(".ts") ? "ts" : "js";
      const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } };
      const options = { loader, minifyWhitespace: true, target: "esnext", tsconfigRaw } as const;
      return { contents: (await transform(readFileSync(file, "utf8"), options)).code };
    });
  },
};

/** Leaves the text of the program of builders out of a script. */
const textApart: Plugin = {
  name: "text-apart",
  setup: (bundler) => {
    bundler.onResolve({ filter: /\/program-text\.ts$/ }, () => ({ path: "./program-text.js", external: true }));
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
  const common = {
    absWorkingDir: ROOT,
    outdir: OUT,
    bundle: true,
    platform: "node",
    target: "node24",
    legalComments: "linked",
    write: false,
    metafile: true,
  } as const;
  const plugins = [guestPrograms, builtIns, englishOnly, noValidator, withoutComments];
  const modules = await build({ ...common, entryPoints: ENTRIES, format: "esm", plugins });
  const scripts = await build({
    ...common,
    entryPoints: SCRIPTS,
    format: "cjs",
    plugins: [textApart, ...plugins],
    // Each start reads the whole text, and the blanks were a fifth of it. The lines stay short enough for positions in a stack.
    minifyWhitespace: true,
    lineLimit: 500,
    define: { "import.meta.dirname": "$dirname", "import.meta.filename": "$filename", "import.meta.url": "$filename" },
  });
  mkdirSync(OUT, { recursive: true });
  const files = [
    ...modules.outputFiles.map(({ path: file, text }) => ({ file, text })),
    ...[...guestFiles].map(([file, text]) => ({ file, text })),
    ...scripts.outputFiles.map(({ path: file, text }) => ({
      file,
      text: file.endsWith(".js") ? asScript(text) : text,
    })),
  ];
  // Each file is replaced as a whole, because another start may read it at this moment.
  for (const { file, text } of files) {
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, file.endsWith(".js") ? asAscii(text) : text);
    renameSync(unfinished, file);
  }
  const inputs = [...Object.keys(modules.metafile.inputs), ...Object.keys(scripts.metafile.inputs)];
  writeFileSync(path.join(OUT, "licenses.txt"), licensesOf([...inputs, BUILDER_API]));
  writeFileSync(path.join(OUT, "package.json"), '{ "type": "module" }\n');
  const made = new Set(files.map(({ file }) => path.basename(file)));
  for (const name of globSync(["*.js", "*.LEGAL.txt"], { cwd: OUT }))
    if (!made.has(name)) rmSync(path.join(OUT, name), { force: true });
  writeFileSync(STAMP, "");
  // A file that changes during a build is newer than the build.
  utimesSync(STAMP, begunMs / 1_000, begunMs / 1_000);
}

/** Makes a script of a CommonJS module: a function that returns the exports, after a line with the digest of the text. */
function asScript(text: string): string {
  const script = `(function ($dirname, $filename, require) { const module = { exports: {} };\n${text}\nreturn module.exports; })\n`;
  return `// ${hash("sha256", asAscii(script))}\n${script}`;
}

/**
 * Escapes what esbuild leaves in comments and regular expressions. V8 would keep a file with any other character in twice the
 * memory.
 */
function asAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Removes comments and blanks, which are half of the guest program. Each guest keeps the text in its memory. */
async function dense(text: string): Promise<string> {
  return (await transform(text, { minifyWhitespace: true, legalComments: "none", target: "node24" })).code;
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
