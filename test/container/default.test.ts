import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { table } from "../hostile/table.ts";
import { isLong } from "../long.ts";
import { drawn } from "../seeded.ts";
import { CHOSEN, type Verdict } from "./chosen.ts";
import { type Container, runContainer, served } from "./container.ts";
import { buildImage, type Image } from "./image.ts";
import type { RunFlags } from "./oci.ts";
import { whyNoContainer } from "./runtime.ts";

const RUNS = isLong ? 1_000 : 60;
const RUNS_AT_ONCE = 8;
/** Small limits, so that an attack that exhausts a resource ends soon. */
const LIMITS = ["--memory-limit", "96MiB", "--tmp-limit", "16MiB", "--idle-limit", "3s"];
const SERVE = ["serve", ...LIMITS, "--token-new-containers", "100000"];
/** A secret in the environment of the service and in a file next to it. */
const CANARY_SECRET = "secret-of-the-container";

/** The usual ways to start it without privileges, by the arguments after `docker run -p 7070:7070`. */
const WAYS: Readonly<Record<string, RunFlags>> = {
  "as it is": {},
  "--user 1000": { user: 1_000 },
  "--cap-drop ALL": { capabilities: [] },
};

/** The tests run at once, because each container has a separate network. */
describe("a default container", { skip: whyNoContainer(), concurrency: Object.keys(WAYS).length }, () => {
  let image: Image;
  before(() => {
    image = buildImage();
  });

  // The tests of one way share a container and must run in order.
  const ways = drawn("ways to start the container", Object.entries(WAYS), 1);
  const attacked = drawn("ways to start the container for the attacks", Object.keys(Object.fromEntries(ways)), 1);
  for (const [way, flags] of ways) {
    describe(way, { concurrency: 1 }, () => holdWay(() => image, flags, attacked.includes(way)));
  }
});

function holdWay(built: () => Image, flags: RunFlags, isAttacked: boolean): void {
  let container: Container;
  let token: string;

  before(async () => {
    container = runContainer(built(), { ...flags, environment: { CANARY_SECRET } }, SERVE);
    await served(container);
    const file = /^administrative token: (.*)$/m.exec(container.stdout())![1]!;
    token = (await container.exec("cat", file)).stdout.trim();
  });
  // If the start has failed, the stop may fail, too.
  after(() => container.stop().catch(() => {}));

  it("serves at the level confined, which the self-test has attacked, and reports that level", async () => {
    assert.match(container.stdout(), /^isolation: confined\b/m);
    const health = (await container.request("GET", "/healthz")).json() as { status: string; isolation: string };
    assert.deepEqual([health.status, health.isolation], ["ok", "confined"]);
  });

  it("prints the same first lines as a service on a host", () => {
    const [serves, isolation, ...rest] = container.stdout().trimEnd().split("\n");
    assert.match(serves!, /^caisson \d+\.\d+\.\d+ serves at http:\/\/127\.0\.0\.1:7070$/);
    assert.match(isolation!, /^isolation: confined \(.+\), verified by attacks from inside$/);
    // The level below the best one has its reason in an additional line.
    const lines = rest.filter((line) => !line.startsWith("  instead of "));
    const [resources, webConsole, admin, attempt, line] = lines;
    assert.match(resources!, /^resources: ./);
    assert.deepEqual(
      [webConsole, admin, attempt],
      ["console: http://127.0.0.1:7070/", "administrative token: /data/caisson/admin.token", "try:"],
    );
    assert.match(
      line!,
      /^curl -sS -H "Authorization: Bearer \$\(cat '\/data\/caisson\/admin\.token'\)" --data '6 \* 7' /,
    );
    assert.equal(lines.length, 5);
  });

  it("answers the printed line inside the container, where its file is", async () => {
    const line = container.stdout().trimEnd().split("\n").at(-1)!;
    const { code, stdout, stderr } = await container.exec("sh", "-c", line);
    assert.deepEqual([code, stdout, stderr], [0, "42", ""]);
  });

  it("is backed up by a command in the container, and restored in it", async () => {
    const { entrypoint } = built().config;
    const backup = await container.exec(...entrypoint, "backup", "--to", "/tmp/caisson.tar");
    assert.deepEqual([backup.code, backup.stderr], [0, ""]);
    const words = ["restore", "--from", "/tmp/caisson.tar", "--data", "/tmp/restored"];
    const restored = await container.exec(...entrypoint, ...words);
    assert.deepEqual([restored.code, restored.stderr], [0, ""]);
  });

  it("passes the image's own health check", async () => {
    const { code, stdout } = await container.exec(...built().config.healthcheck);
    assert.deepEqual([code, /^ok: caisson .*, isolation confined\n$/.test(stdout)], [0, true], stdout);
  });

  it("passes the doctor", async () => {
    const { code, stdout, stderr } = await container.exec(...built().config.entrypoint, "doctor");
    assert.deepEqual([code, stderr], [0, ""], stdout);
    assert.match(stdout, /^The sandbox holds \(isolation confined\)/m);
  });

  it(`answers ${RUNS} runs from outside correctly`, async () => {
    const wrong: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let run = next++; run < RUNS; run = next++) {
        const answer = await container.request("POST", `/api/run/runs-${run % 4}`, { token, body: `${run} * 7` });
        if (answer.text !== String(run * 7)) wrong.push(`${run}: ${answer.status} ${answer.text}`);
      }
    };
    await Promise.all(Array.from({ length: RUNS_AT_ONCE }, work));
    assert.deepEqual(wrong, [], container.stderr());
  });

  it("withstands forty attacks from inside, and no canary is touched", { skip: !isAttacked }, async () => {
    const { code, stdout, stderr } = await container.exec("scripts/node", "test/container/inside.ts");
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Verdict);
    const canaries = lines.pop()!;
    assert.equal(lines.length, Object.values(CHOSEN).flat().length);
    const failed = lines.filter(({ error }) => error !== null);
    console.log(table(lines));
    assert.deepEqual([...failed.map(({ kind, name, error }) => `${kind}/${name}: ${error}`), canaries.error], [null]);
    assert.ok(!container.stderr().includes(CANARY_SECRET), "the secret stands in the log");
  });

  it("ends with exit code 0 when it is stopped, and leaves nothing behind", async () => {
    assert.equal(await container.stop(), 0);
  });
}
