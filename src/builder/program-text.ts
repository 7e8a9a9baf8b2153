import path from "node:path";

import type { Plugin } from "esbuild";

const FOLDER = path.join(import.meta.dirname, "../bundler");

/** What replaces Node's modules in esbuild's JavaScript API, in the builder. */
const REPLACED: Readonly<Record<string, string>> = {
  child_process: path.join(FOLDER, "esbuild-process.ts"),
  fs: path.join(FOLDER, "esbuild-files.ts"),
  worker_threads: path.join(FOLDER, "nothing.ts"),
};

const replacedModules: Plugin = {
  name: "replaced-modules",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^(?:child_process|fs|worker_threads)$/ }, ({ path: name, importer }) => {
      return importer.endsWith("/esbuild/lib/main.js") ? { path: REPLACED[name]! } : undefined;
    });
  },
};

/**
 * Bundles the program of builders, with esbuild's JavaScript API in it. A build of the service contains its result instead of this
 * function.
 */
export async function programText(): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [path.join(FOLDER, "main.ts")],
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node24",
    minify: true,
    legalComments: "none",
    // The API takes any path of the binary that exists, and nothing is started by it.
    define: { "process.env.ESBUILD_BINARY_PATH": '"esbuild"' },
    plugins: [replacedModules],
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]!.text;
}
