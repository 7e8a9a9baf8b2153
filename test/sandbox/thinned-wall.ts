import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";

import { probeGuests } from "../../src/containers/guest/probe.ts";
import { sandboxOf, type SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import { openNamespaces } from "../../src/sandbox/namespaces.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";
import { type Promised, testWall } from "../../src/sandbox/self-test/self-test.ts";
import { prepareRunFolder, type RunFolder } from "../../src/sandbox/temp/run-folder.ts";

const MIB = 2 ** 20;
export const RESOURCES: SandboxOptions = {
  isolation: "namespaces",
  memoryBytes: 128 * MIB,
  threads: 48,
  cpuCores: 1,
  tmpBytes: 16 * MIB,
  descriptors: 128,
  // No result of the self-test would fit.
  resultBytes: 16,
  logs: { bytes: MIB, linesPerSecond: 1_000 },
};

/**
 * What the self-test says of the real wall, whose bubblewrap is called by a shell script that may take layers away.
 *
 * @param script edits the arguments, `"$@"`.
 * @param promised what the wall is said to hold, where it is not what it was made with.
 * @param landlock the version to use, by default the kernel's.
 */
export async function testThinnedWall(
  script: string,
  promised: Partial<Promised> = {},
  landlock?: number,
): Promise<Check[]> {
  await using _ = await useBubblewrap(script);
  // Awaited here: the script is needed for as long as guests are made.
  const wall = await openNamespaces({ ...(await runFolder()), remove: async () => {} }, RESOURCES, landlock);
  return await testSandbox(sandboxOf(wall), promised);
}

/** One for all walls of a file: none of them changes it, and to make it is a third of the work of a wall. */
let sharedFolder: Promise<RunFolder> | null = null;

function runFolder(): Promise<RunFolder> {
  sharedFolder ??= prepareRunFolder();
  return sharedFolder;
}

after(async () => (await sharedFolder)?.remove());

/** Until it is disposed of, this process finds a bubblewrap that is the real one after a script. */
export async function useBubblewrap(script: string): Promise<AsyncDisposable> {
  const wrapper = await fakeBubblewrap(script);
  const search = process.env["PATH"];
  process.env["PATH"] = `${wrapper.path}:${search}`;
  const restore = async (): Promise<void> => {
    process.env["PATH"] = search;
    await wrapper[Symbol.asyncDispose]();
  };
  return { [Symbol.asyncDispose]: restore };
}

/** What the self-test says of a sandbox, which is closed then. */
export async function testSandbox(sandbox: Sandbox, promised: Partial<Promised> = {}): Promise<Check[]> {
  try {
    return await testWall(probeGuests(sandbox, RESOURCES.resultBytes), {
      ...RESOURCES,
      ...sandbox.facts,
      ...promised,
    });
  } finally {
    await sandbox.close();
  }
}

/** A folder to be searched first, whose `bwrap` is the real one after a script. */
export async function fakeBubblewrap(script: string): Promise<AsyncDisposable & { path: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-thinned-"));
  await chmod(folder, 0o755);
  const file = path.join(folder, "bwrap");
  await writeFile(file, `#!/bin/bash\n${script}\nexec /usr/bin/bwrap "$@"\n`);
  await chmod(file, 0o755);
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Takes an argument away, and the word after it when it has a value. */
export function without(argument: string, words: 1 | 2 | 3 = 1): string {
  return `kept=(); while [ $# -gt 0 ]; do
    if [ "$1" = ${argument} ]; then shift ${words}; else kept+=("$1"); shift; fi
  done; set -- "\${kept[@]}"`;
}

/** Puts arguments before the one after which nothing can be mounted any more. */
export function withMounts(...words: readonly string[]): string {
  return `kept=(); for word in "$@"; do
    if [ "$word" = --remount-ro ]; then kept+=(${words.join(" ")}); fi; kept+=("$word")
  done; set -- "\${kept[@]}"`;
}

/** Starts Node, or what is in its place, with nobody who plays a plan: no filter, no Landlock, no limits. */
export const NO_PLAN: string = `kept=(); while [ $# -gt 0 ]; do
    if [ "$1 $2" = "-- /bin/stub" ]; then kept+=(--); shift 2; else kept+=("$1"); shift; fi
  done; set -- "\${kept[@]}"`;
