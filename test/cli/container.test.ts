import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import type { Ended } from "./command.ts";
import { hostedCommand } from "./hosted-command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

function container(...args: string[]): Promise<Ended> {
  return hostedCommand(["containers", ...args, "--port", String(service.port), "--data", home.data]);
}

describe("caisson containers", () => {
  it("suspends a container, shows that, and resumes it", async () => {
    const suspended = await container("suspend", "demo", "--json");
    assert.deepEqual([suspended.code, suspended.stderr], [0, ""]);
    assertProblem(await service.run("demo", "1"), 403, "container_suspended");
    const shown = await container("show", "demo", "--json");
    assert.deepEqual(JSON.parse(shown.stdout), JSON.parse(suspended.stdout));
    assert.match(
      (await container("show", "demo")).stdout,
      /^suspended {2}since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, by [\da-f-]{36}$/m,
    );
    const resumed = await container("resume", "demo", "--json");
    assert.deepEqual(JSON.parse(resumed.stdout), { limits: {}, labels: {}, description: null, suspended: null });
    assert.equal((await service.run("demo", "globalThis.mark = 1")).status, 200);
  });

  it("restarts a container, and ends its runs in flight with --now", async () => {
    assert.equal((await service.run("again", "globalThis.mark = 1")).status, 200);
    const restarted = await container("restart", "again", "--now", "--json");
    assert.deepEqual(JSON.parse(restarted.stdout), { container: "again", restarted: true });
    assert.equal((await service.run("again", "globalThis.mark ?? null")).json(), null);
  });

  it("lists containers in an aligned table of at most 80 columns", async () => {
    const { stdout } = await container("list");
    const [head, ...rows] = stdout.trimEnd().split("\n");
    assert.equal(head, "container  state  runs today  in flight  limits");
    assert.match(
      rows.find((row) => row.startsWith("demo "))!,
      /^demo {7}ok {5}/,
    );
    assert.ok(stdout.split("\n").every((line) => line.length <= 80));
    const again = await hostedCommand([
      "container",
      "list",
      "--json",
      "--port",
      String(service.port),
      "--data",
      home.data,
    ]);
    const listed = (JSON.parse(again.stdout) as { container: string }[]).map((each) => each.container);
    assert.deepEqual(listed.toSorted(), ["again", "demo"]);
  });

  it("prints the hint of the service for a container that nothing uses", async () => {
    const hint =
      "caisson: The container acmee has no task, no policy and no guest now. Check its name: caisson containers list lists those in use.";
    for (const verb of ["suspend", "restart"]) {
      const { code, stderr } = await container(verb, "acmee");
      assert.deepEqual([code, stderr.split("\n").includes(hint)], [0, true], stderr);
      await container("resume", "acmee");
    }
    const { stderr } = await container("restart", "acmee", "--json");
    assert.equal(stderr, "");
  });

  it("reports what the service rejects, with exit code 2", async () => {
    const { code, stderr } = await container("resume", "a+b");
    assert.equal(code, 2);
    assert.match(stderr, /^caisson: container_invalid: .*name/);
  });
});
