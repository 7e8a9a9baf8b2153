import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { probeGuests } from "../../src/containers/probe.ts";
import { openWall } from "../../src/sandbox/open-wall.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { type Promised, testWall } from "../../src/sandbox/self-test.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";
import { sandboxBehind, type SandboxOptions } from "../../src/sandbox/wall.ts";

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
 */
export async function testThinnedWall(script: string, promised: Partial<Promised> = {}): Promise<Check[]> {
  await using wrapper = await fakeBubblewrap(script);
  const search = process.env["PATH"];
  process.env["PATH"] = `${wrapper.path}:${search}`;
  const opening = openWall(RESOURCES).finally(() => (process.env["PATH"] = search));
  // Awaited here: the script is needed for as long as guests are made.
  return await testSandbox(sandboxBehind(await opening), promised);
}

/** What the self-test says of a sandbox, which is closed then. */
export async function testSandbox(sandbox: Sandbox, promised: Partial<Promised> = {}): Promise<Check[]> {
  try {
    return await testWall(probeGuests(sandbox, RESOURCES.resultBytes), {
      ...RESOURCES,
      rung: sandbox.rung,
      holdsResources: sandbox.holdsResources,
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
export function without(argument: string, words: 1 | 2 = 1): string {
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
