import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Ended } from "../cli/command.ts";
import { isLong } from "../long.ts";
import { seeded } from "../seeded.ts";
import { type Container, endOf, runContainer, served } from "./container.ts";
import { buildImage, type Image } from "./image.ts";
import type { RunFlags } from "./oci.ts";
import { whyNoContainer } from "./runtime.ts";
import { ENOSYS, EPERM, LANDLOCK, type Refusals } from "./seccomp-profile.ts";

interface Layer {
  readonly layer: string;
  readonly ok: boolean;
  readonly weak: boolean;
  readonly proof: string;
}

let image: Image;

/** Each test uses one processor for one to three seconds. */
const AT_ONCE = 3;

const random = seeded();
const SEED = `SEED=${random.seed}`;

/** A short run makes about a quarter of these tests. */
function itIfDrawn(title: string, test: () => Promise<void>): void {
  const isDrawn = isLong || random.below(4) === 0;
  it(title, { skip: !isDrawn && `not drawn; LONG=1 makes all of them (${SEED})` }, test);
}

describe(`other containers and kernels (${SEED})`, { skip: whyNoContainer(), concurrency: AT_ONCE }, () => {
  before(() => {
    image = buildImage();
  });

  for (const [why, errno] of Object.entries({
    "a kernel without Landlock": ENOSYS,
    "a filter that refuses it": EPERM,
  })) {
    const refused = Object.fromEntries(LANDLOCK.map((name) => [name, errno]));

    itIfDrawn(
      `with ${why}: root gives each guest a root and a user, and the doctor reports what is missing`,
      async () => {
        const { code, isolation, layers } = await diagnosis({ refused });
        assert.deepEqual([code, isolation], [0, "confined"]);
        assert.match(layers.get("sandbox")!.proof, /no Landlock/);
        assert.match(await answer({ refused }), /^42 confined$/);
      },
    );

    itIfDrawn(`with ${why}: a start as a user reports what is missing, and does not serve`, async () => {
      const { code, stdout, stderr } = await ended({ user: 1_000, refused });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^caisson: .*guests cannot be confined: this kernel has no Landlock/s);
      assert.doesNotMatch(stderr, /\n\s+at /);
    });
  }

  itIfDrawn("with a filter that refuses filters: the start reports that, and does not serve", async () => {
    for (const refused of [{ seccomp: EPERM }, { seccomp: ENOSYS }] satisfies Refusals[]) {
      const { code, stdout, stderr } = await ended({ refused });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^caisson: .*could not be confined: system-call filter/s);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
  });

  itIfDrawn("that was killed and is started again: serves with the same token, and leaves no old files", async () => {
    // The service is process 1 each time, so by its number the killed process would seem to live.
    let container = runContainer(image);
    try {
      await served(container);
      const token = await tokenOf(container);
      const held = await temporaryFiles(container);
      assert.equal(held, "2 caisson-run");
      await container.kill();
      container = container.startAgain();
      await served(container);
      assert.deepEqual([await tokenOf(container), await temporaryFiles(container)], [token, held]);
      assert.equal((await container.request("POST", "/api/run/demo", { token, body: "6 * 7" })).text, "42");
    } finally {
      await container.stop();
    }
  });

  itIfDrawn("with --security-opt no-new-privileges: nothing changes", async () => {
    assert.equal(await answer({ noNewPrivileges: true }), "42 confined");
  });

  itIfDrawn(
    "with --read-only and a temporary folder: serves if that allows execution, otherwise reports what to set",
    async () => {
      assert.equal(await answer({ readOnly: "exec" }), "42 confined");
      const { code, stdout, stderr } = await ended({ readOnly: "noexec" });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^caisson: .*noexec.*TMPDIR/s);
    },
  );
});

/** Returns the answer of a run, and the isolation level. */
async function answer(flags: RunFlags): Promise<string> {
  const container = runContainer(image, flags);
  try {
    await served(container);
    const token = await tokenOf(container);
    const run = await container.request("POST", "/api/run/demo", { token, body: "6 * 7" });
    const health = (await container.request("GET", "/healthz")).json() as { isolation: string };
    return `${run.text} ${health.isolation}`;
  } finally {
    await container.stop();
  }
}

async function tokenOf(container: Container): Promise<string> {
  return (await container.exec("cat", "/data/caisson/admin.token")).stdout.trim();
}

/** Returns the number of each kind. */
async function temporaryFiles(container: Container): Promise<string> {
  const { stdout } = await container.exec("sh", "-c", "ls /tmp | cut -d- -f1,2 | sort | uniq -c");
  return stdout.replaceAll(/\s+/g, " ").trim();
}

function ended(flags: RunFlags, words?: readonly string[]): Promise<Ended> {
  return endOf(runContainer(image, flags, words));
}

interface Diagnosis {
  readonly code: number | null;
  readonly isolation: string | null;
  readonly layers: ReadonlyMap<string, Layer>;
}

async function diagnosis(flags: RunFlags): Promise<Diagnosis> {
  const { code, stdout } = await ended(flags, ["doctor", "--json"]);
  const { isolation, layers } = JSON.parse(stdout) as { isolation: string | null; layers: Layer[] };
  return { code, isolation, layers: new Map(layers.map((each) => [each.layer, each])) };
}
