import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Guest } from "../../src/containers/guest.ts";
import { probeGuest } from "../../src/containers/probe.ts";
import { type NamespacesOptions, openNamespaces } from "../../src/sandbox/namespaces.ts";
import { prepareRunFolder } from "../../src/sandbox/run-folder.ts";
import { type Promised, testWall } from "../../src/sandbox/self-test.ts";
import type { Check } from "../../src/sandbox/self-test/check.ts";

const MIB = 2 ** 20;
export const RESOURCES: NamespacesOptions = { memoryBytes: 128 * MIB, threads: 48, cpuCores: 1, tmpBytes: 16 * MIB, resultBytes: MIB };
const LIMITS = { wallMs: 30_000, streamMs: 30_000, resultBytes: MIB };

/**
 * What the self-test says of the real wall, whose bubblewrap is called by a shell script that may take layers away.
 *
 * @param script edits the arguments, `"$@"`.
 * @param promised what the wall is said to hold, where it is not what it was made with.
 */
export async function testThinnedWall(script: string, promised: Partial<Promised> = {}): Promise<Check[]> {
  await using wrapper = await fakeBubblewrap(script);
  const search = process.env["PATH"];
  const folder = await prepareRunFolder();
  process.env["PATH"] = `${wrapper.path}:${search}`;
  const opening = openNamespaces(folder, RESOURCES);
  try {
    const sandbox = await opening.finally(() => (process.env["PATH"] = search));
    const guests: Guest[] = [];
    try {
      const { holdsResources } = sandbox;
      return await testWall(
        async () => {
          const guest = new Guest(await sandbox.launch(), LIMITS);
          guests.push(guest);
          return probeGuest(await guest.ready());
        },
        { ...RESOURCES, holdsResources, ...promised },
      );
    } finally {
      await Promise.all(guests.map((guest) => guest.process.exited));
      await sandbox.close();
    }
  } finally {
    await folder.remove();
  }
}

/** A folder to be searched first, whose `bwrap` is the real one after a script. */
async function fakeBubblewrap(script: string): Promise<AsyncDisposable & { path: string }> {
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
