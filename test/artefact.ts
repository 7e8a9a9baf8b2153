import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import path from "node:path";

import { build, type BuildFailure, type Plugin } from "esbuild";

/**
 * Makes artefacts as the builder does: one text with the entries of packages, and of packages that a test writes. `import` and
 * `require` of an entry give what Node would give.
 */

const ROOT = path.resolve(import.meta.dirname, "..");
const INSTALLED = path.join(ROOT, "node_modules");
const BUILT_IN = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);

/** Packages that a test writes: the texts of their files, by `name@version/path`. The entry is `index.js`, or `index.mjs` for a module. */
export type WrittenPackages = Readonly<Record<string, string>>;

/** Returns the artefact of these entries, of installed packages or of written ones. */
export async function artefactOf(entries: readonly string[], written: WrittenPackages = {}): Promise<Buffer> {
  try {
    return await bundle(entries, written, []);
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!errors?.every(({ text }) => /^No matching export in .* for import "default"$/.test(text))) throw error;
    return await bundle(
      entries,
      written,
      errors.map(({ location }) => location!.file.replace("import:", "")),
    );
  }
}

/** @param withoutDefault the entries that have no default export */
async function bundle(
  entries: readonly string[],
  written: WrittenPackages,
  withoutDefault: readonly string[],
): Promise<Buffer> {
  const list = entries.map((entry) => {
    const quoted = JSON.stringify(entry);
    return `${quoted}: { __proto__: null, import: () => require("import:${entry}"), require: () => require("require:${entry}") }`;
  });
  const { outputFiles } = await build({
    stdin: { contents: `module.exports = { __proto__: null, ${list.join(", ")} };`, resolveDir: ROOT },
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node24",
    write: false,
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [entryPlugin(withoutDefault), writtenPlugin(written), installedPlugin],
  });
  return Buffer.from(outputFiles[0]!.contents);
}

const entryPlugin = (withoutDefault: readonly string[]): Plugin => ({
  name: "entries",
  setup(building) {
    building.onResolve({ filter: /^(?:import|require):/ }, ({ path: name }) => ({
      path: name.slice(name.indexOf(":") + 1),
      namespace: name.slice(0, name.indexOf(":")),
    }));
    building.onLoad({ filter: /.*/, namespace: "import" }, ({ path: entry }) => ({
      contents: `export * from ${JSON.stringify(entry)}; ${
        withoutDefault.includes(entry) ? "" : `export { default } from ${JSON.stringify(entry)}`
      }`,
      resolveDir: ROOT,
    }));
    building.onLoad({ filter: /.*/, namespace: "require" }, ({ path: entry }) => ({
      contents: `module.exports = require(${JSON.stringify(entry)})`,
      resolveDir: ROOT,
    }));
  },
});

function writtenPlugin(written: WrittenPackages): Plugin {
  const files = Object.keys(written);
  return {
    name: "written",
    setup(building) {
      building.onResolve({ filter: /.*/ }, ({ path: name, importer, namespace }) => {
        if (BUILT_IN.has(name)) return { path: name, external: true };
        const isRelative = name.startsWith(".") && namespace === "npm";
        const wanted = isRelative ? path.posix.join(path.posix.dirname(importer), name) : null;
        const found = files.find((file) =>
          wanted === null ? file.replace(/@[\d.]+\/index\.m?js$/, "") === name : file === wanted,
        );
        return found === undefined ? null : { path: found, namespace: "npm", pluginData: written[found] };
      });
      building.onLoad({ filter: /.*/, namespace: "npm" }, ({ pluginData }) =>
        typeof pluginData === "string" ? { contents: pluginData, loader: "js" } : null,
      );
    },
  };
}

interface Installed {
  readonly file: string;
}

const installedPlugin: Plugin = {
  name: "installed",
  setup(building) {
    building.onResolve({ filter: /.*/ }, async ({ path: name, kind, resolveDir, pluginData }) => {
      if (pluginData === "resolving" || kind === "entry-point") return null;
      const found = await building.resolve(name, { kind, resolveDir, pluginData: "resolving" });
      // A module that is not installed: a package may try to load it and go on without it.
      if (found.errors.length > 0) return { path: name, external: true };
      return { path: named(found.path), namespace: "npm", pluginData: { file: found.path } satisfies Installed };
    });
    building.onLoad({ filter: /.*/, namespace: "npm" }, ({ pluginData }) => {
      const { file } = pluginData as Installed;
      return {
        contents: readFileSync(file),
        loader: file.endsWith(".json") ? "json" : "js",
        resolveDir: path.dirname(file),
      };
    });
  },
};

/** Returns `name@version/path` of a file of an installed package. */
function named(file: string): string {
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(path.relative(INSTALLED, file))!;
  const { version } = JSON.parse(readFileSync(path.join(INSTALLED, name!, "package.json"), "utf8")) as {
    version: string;
  };
  return `${name!}@${version}/${rest!}`;
}
