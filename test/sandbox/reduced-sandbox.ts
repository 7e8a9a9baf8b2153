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
  // Too small for every result of the self-test.
  resultBytes: 16,
  logs: { bytes: MIB, linesPerSecond: 1_000 },
};

/**
 * Runs the self-test on the level `namespaces`, with a shell script between the service and bubblewrap that can remove
 * layers.
 *
 * @param script a script that edits the arguments, `"$@"`.
 * @param promised promised properties that differ from the real properties of the sandbox.
 * @param landlock the version of Landlock to use, by default the kernel's.
 */
export async function testReducedSandbox(
  script: string,
  promised: Partial<Promised> = {},
  landlock?: number,
): Promise<Check[]> {
  await using _ = await useBubblewrap(script);
  // Awaited here, because the script is needed until all guests have been started.
  const local = await openNamespaces({ ...(await runFolder()), remove: async () => {} }, RESOURCES, landlock);
  return await testSandbox(sandboxOf(local), promised);
}

/** One folder for all sandboxes of a file: no sandbox changes it, and making it is a third of the work of opening one. */
let sharedFolder: Promise<RunFolder> | null = null;

function runFolder(): Promise<RunFolder> {
  sharedFolder ??= prepareRunFolder();
  return sharedFolder;
}

after(async () => (await sharedFolder)?.remove());

/** Makes this process use a bubblewrap that runs a script before the real one, until the result is disposed of. */
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

/** Runs the self-test on a sandbox and closes the sandbox. */
export async function testSandbox(sandbox: Sandbox, promised: Partial<Promised> = {}): Promise<Check[]> {
  try {
    return await testWall(probeGuests(sandbox, RESOURCES.resultBytes), (kind) => sandbox.launch(kind), {
      ...RESOURCES,
      ...sandbox.facts,
      ...promised,
    });
  } finally {
    await sandbox.close();
  }
}

/** Creates a folder for the start of the PATH. Its `bwrap` runs a script before the real bubblewrap. */
export async function fakeBubblewrap(script: string): Promise<AsyncDisposable & { path: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "caisson-bwrap-"));
  await chmod(folder, 0o755);
  const file = path.join(folder, "bwrap");
  await writeFile(file, `#!/bin/bash\n${script}\nexec /usr/bin/bwrap "$@"\n`);
  await chmod(file, 0o755);
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Returns a script that removes an argument. @param length the number of words of the argument with its values. */
export function without(argument: string, length: 1 | 2 | 3 = 1): string {
  return `kept=(); while [ $# -gt 0 ]; do
    if [ "$1" = ${argument} ]; then shift ${length}; else kept+=("$1"); shift; fi
  done; set -- "\${kept[@]}"`;
}

/** Returns a script that adds arguments before the argument that makes the root read-only. */
export function withMounts(...args: readonly string[]): string {
  return `kept=(); for arg in "$@"; do
    if [ "$arg" = --remount-ro ]; then kept+=(${args.join(" ")}); fi; kept+=("$arg")
  done; set -- "\${kept[@]}"`;
}

/** A script that starts Node, or the program used instead of it, without the stub: no filter, no Landlock, no limits. */
export const NO_PLAN: string = `kept=(); while [ $# -gt 0 ]; do
    if [ "$1 $2" = "-- /bin/stub" ]; then kept+=(--); shift 2; else kept+=("$1"); shift; fi
  done; set -- "\${kept[@]}"`;
