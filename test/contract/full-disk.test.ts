import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { describe, it } from "node:test";

import { hasPrlimit, limitFiles } from "./limit-files.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, tokenRecord } from "./record.ts";
import { type Home, makeHome, type Service, startService } from "./service.ts";
import { until } from "./until.ts";
import { openWitness, type Witness } from "./witness.ts";

const FREE = 1_000_000;
const AT_ONCE = 8;
const REFUSED = 40;
/** More runs than the space of ended changes has room for. */
const MAX_COUNTED = 2_000;
const DISK_BYTES = 32 * 2 ** 20;

/** A way to fill a disk and to free it again. */
interface FullDisk {
  readonly how: string;
  /** Why this way is not available on this machine, or false. */
  readonly skip: string | false;
  /** Whether other files of the service may give space back while the disk is full. */
  readonly givesBack: boolean;
  /** Creates a home with its data folder on that disk. */
  prepare(home: Home): Promise<Home>;
  fill(service: Service): Promise<void>;
  free(service: Service): Promise<void>;
  end(home: Home): void;
}

const small: FullDisk = {
  how: "a small file system that is full",
  skip: canMount() ? false : "only root can mount a small file system",
  givesBack: true,
  // Not on the data folder itself, because the tests recognise the processes of a service by mounts of that path.
  prepare: async (home) => {
    await mkdir(home.data);
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES},mode=755`, "none", home.data]);
    return { ...home, data: path.join(home.data, "folder") };
  },
  fill: async ({ data }) => {
    const chunk = Buffer.alloc(4_096);
    for (;;) {
      try {
        await appendFile(path.join(data, "filler"), chunk);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
        return;
      }
    }
  },
  free: ({ data }) => rm(path.join(data, "filler")),
  end: ({ data }) => void execFileSync("umount", [data]),
};

const limited: FullDisk = {
  how: "a limit on the length of files",
  skip: hasPrlimit() ? false : "there is no prlimit",
  givesBack: false,
  prepare: (home) => Promise.resolve(home),
  fill: async (service) => {
    const folder = path.join(service.data, "limits");
    const journal = (await readdir(folder)).find((name) => name.startsWith("journal"));
    const { size } = await stat(path.join(folder, journal!));
    // The limit is within the next record: the kernel writes a part of that record, and refuses the rest.
    await limitFiles(service, `${size + 30}`);
  },
  free: (service) => limitFiles(service, "unlimited"),
  end: () => {},
};

function canMount(): boolean {
  return (
    spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/tmp"]).status === 0 && process.getuid?.() === 0
  );
}

async function runUntilRefused(witness: Witness, service: Service, token: string): Promise<number> {
  for (let admitted = 0; ; admitted++) {
    const answer = await witness.run(service, "full", token);
    if (answer.status === 200) continue;
    assertProblem(answer, 503, "store_unavailable");
    return admitted;
  }
}

async function runOn(disk: FullDisk, witness: Witness, home: Home): Promise<void> {
  const start = (): Promise<Service> =>
    startService(["--egress-allow", witness.address, "--container-limit", `month=${FREE}`], home);
  let service = await start();
  try {
    await fillAndFree(disk, witness, service);
    const admitted = witness.started("full");
    await service.kill9();
    service = await start();
    assert.equal(FREE - (await containerRecord(service, "full")).month, admitted);
  } finally {
    await service.kill9();
  }
}

async function fillAndFree(disk: FullDisk, witness: Witness, service: Service): Promise<void> {
  const limits = { container: { month: FREE }, token: { month: FREE } };
  const token = await service.issue({ containers: ["full"], limits });
  const run = (): ReturnType<Witness["run"]> => witness.run(service, "full", token);
  let admitted = 0;
  const assertCounted = async (): Promise<void> => {
    assert.equal(FREE - (await containerRecord(service, "full", token)).month, admitted);
    assert.equal(FREE - (await tokenRecord(service, token)).month, admitted);
    assert.equal(witness.started("full"), admitted);
  };
  assert.equal((await run()).status, 200);
  admitted += 1;

  await disk.fill(service);
  admitted += await runUntilRefused(witness, service, token);
  let refused = 0;
  while (refused < REFUSED) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, run));
    const counted = answers.filter(({ status }) => status === 200).length;
    for (const answer of answers) if (answer.status !== 200) assertProblem(answer, 503, "store_unavailable");
    refused += AT_ONCE - counted;
    admitted += counted;
    if (counted === 0) continue;
    // A database that ends a change gives space back. Then runs are counted until the disk is full again.
    assert.ok(disk.givesBack && admitted < MAX_COUNTED, `${counted} runs were admitted on a full disk`);
    await disk.fill(service);
  }
  await assertCounted();
  // Without runs the service reports the failure for some seconds only.
  await until(async () => {
    assert.equal((await run()).status, 503);
    return (await service.request("GET", "/readyz", { token: null })).status === 503;
  }, "the service reports that it takes no runs");

  await disk.free(service);
  for (const answer of await Promise.all(Array.from({ length: AT_ONCE }, run))) assert.equal(answer.status, 200);
  admitted += AT_ONCE;
  await assertCounted();
  assert.equal((await service.request("GET", "/readyz", { token: null })).status, 200);
}

describe("a full data folder", () => {
  for (const disk of [small, limited]) {
    it(
      `gives 503 store_unavailable, runs and counts nothing, and recovers by itself: ${disk.how}`,
      { skip: disk.skip },
      async () => {
        const witness = await openWitness();
        const home = await makeHome();
        const there = await disk.prepare(home);
        try {
          await runOn(disk, witness, there);
        } finally {
          disk.end(home);
          await witness.close();
          await home[Symbol.asyncDispose]();
        }
      },
    );
  }
});
