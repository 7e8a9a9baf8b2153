import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { GuestResources } from "../local-sandbox.ts";

/** The binary of esbuild for this machine, which npm installs as an optional dependency, as it installs the pinned Node. */
export interface EsbuildProgram {
  readonly file: string;
  readonly version: string;
}

const PACKAGE = `@esbuild/${process.platform}-${process.arch}`;
/** The part of the memory limit at which Go collects garbage more often, so that it rarely reaches the limit itself. */
const SOFT_SHARE = 0.8;

export const INSTALL_ESBUILD: string = `install it next to caisson: npm install ${PACKAGE}`;

/** @returns null if it is not installed */
export function findEsbuild(): EsbuildProgram | null {
  const { resolve } = createRequire(import.meta.url);
  try {
    const { version } = JSON.parse(readFileSync(resolve(`${PACKAGE}/package.json`), "utf8")) as { version: string };
    return { file: resolve(`${PACKAGE}/bin/esbuild`), version };
  } catch {
    return null;
  }
}

/** @throws {Error} if it is not installed. */
export function requireEsbuild(): EsbuildProgram {
  const program = findEsbuild();
  if (program) return program;
  throw new Error(`esbuild is not installed (${PACKAGE}); ${INSTALL_ESBUILD}`);
}

/** Returns esbuild's arguments: it serves builds on its standard streams (esbuild's `cmd/esbuild/service.go`). */
export function esbuildArguments({ version }: EsbuildProgram): string[] {
  return [`--service=${version}`];
}

/** Returns esbuild's environment, for Go's runtime. A guest sees the host's processors, and Go would use all of them. */
export function esbuildEnvironment({ cpuCores, memoryBytes }: GuestResources): Readonly<Record<string, string>> {
  return {
    GOMAXPROCS: String(Math.max(1, Math.ceil(cpuCores))),
    GOMEMLIMIT: String(Math.floor(memoryBytes * SOFT_SHARE)),
  };
}
