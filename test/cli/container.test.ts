import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { assertProblem } from "../contract/problem.ts";
import { type Home, leave, makeHome, NO_WALL, type Service, startService } from "../contract/service.ts";
import { command, type Ended } from "./command.ts";

let home: Home;
let service: Service;

before(async () => {
  home = await makeHome();
  service = await startService(NO_WALL, home);
});
after(() => leave(service, home));

function container(...args: string[]): Promise<Ended> {
  return command(["container", ...args, "--port", String(service.port), "--data", home.data]);
}

describe("caisson container", () => {
  it("suspends a container, shows that, and resumes it", async () => {
    const suspended = await container("suspend", "demo");
    assert.deepEqual([suspended.code, suspended.stderr], [0, ""]);
    assertProblem(await service.run("demo", "1"), 403, "container_suspended");
    const shown = await container("show", "demo");
    assert.deepEqual(JSON.parse(shown.stdout), JSON.parse(suspended.stdout));
    const resumed = await container("resume", "demo");
    assert.deepEqual(JSON.parse(resumed.stdout), { limits: {}, labels: {}, description: null, suspended: null });
    assert.equal((await service.run("demo", "globalThis.mark = 1")).status, 200);
  });

  it("restarts a container, and ends its runs in flight with --now", async () => {
    assert.equal((await service.run("again", "globalThis.mark = 1")).status, 200);
    const restarted = await container("restart", "again", "--now");
    assert.deepEqual(JSON.parse(restarted.stdout), { container: "again", restarted: true });
    assert.equal((await service.run("again", "globalThis.mark ?? null")).json(), null);
  });

  it("reports what the service rejects", async () => {
    const { code, stderr } = await container("resume", "a b");
    assert.equal(code, 1);
    assert.match(stderr, /^caisson: .*name/);
  });
});
