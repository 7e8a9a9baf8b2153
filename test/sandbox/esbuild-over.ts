import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";

import type * as Esbuild from "esbuild";

const require = createRequire(import.meta.url);

/** Returns esbuild's JavaScript API over the connection to a guest of the kind `esbuild`, which it would start as a child itself. */
export function esbuildOver(socket: Socket): typeof Esbuild {
  const file = require.resolve("esbuild");
  const child = {
    stdin: { write: socket.write.bind(socket), on: ignore, destroy: ignore },
    stdout: { on: socket.on.bind(socket), destroy: ignore },
    ...{ on: ignore, ref: ignore, unref: ignore, kill: ignore },
  };
  const module = { exports: {} as typeof Esbuild };
  const load = (name: string): unknown => (name === "child_process" ? { spawn: () => child } : require(name));
  // oxlint-disable-next-line no-implied-eval -- it is the file of the installed esbuild, with another child_process
  const evaluate = new Function("require", "module", "__filename", "__dirname", readFileSync(file, "utf8")) as (
    ...scope: unknown[]
  ) => void;
  evaluate(Object.assign(load, { resolve: require.resolve }), module, file, file.replace(/\/[^/]*$/, ""));
  return module.exports;
}

function ignore(): void {}
