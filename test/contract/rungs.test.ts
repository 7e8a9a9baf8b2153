import assert from "node:assert/strict";
import { statSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";

import { leave, makeHome, startService } from "./service.ts";
import { makeUserHome, whyNoUser } from "./user.ts";

describe("--isolation none", () => {
  it("is loud, is named by /healthz, and runs tasks all the same", async () => {
    const home = await makeHome();
    const service = await startService(["--isolation", "none"], home);
    assert.match(service.stdout(), /^isolation: none$/m);
    assert.match(service.stdout(), /WARNING: THERE IS NO WALL/);
    const health = (await service.request("GET", "/healthz")).json() as { isolation: string };
    assert.equal(health.isolation, "none");
    assert.equal((await service.run("demo", "const x: number = 6; return x * 7")).text, "42");
    const read = await service.run("demo", `(await import("node:fs")).readFileSync("/etc/passwd")`);
    assert.equal(read.status, 500);
    await leave(service, home);
  });

  for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
    it(`does not listen on ${host}, whatever else is said`, async () => {
      await assert.rejects(
        startService(["--isolation", "none", "--host", host, "--insecure-http"]),
        /--isolation none has no wall, so it listens on loopback only/,
      );
    });
  }

  it("is never taken by itself", async () => {
    const home = await makeHome();
    const service = await startService([], home);
    assert.doesNotMatch(service.stdout(), /NO WALL/);
    await leave(service, home);
  });
});

describe("a service that a user starts", { skip: whyNoUser() }, () => {
  it("works the same without a launcher", async () => {
    const home = await makeUserHome();
    const service = await startService([], home);
    assert.match(service.stdout(), /^isolation: namespaces/m);
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    assert.equal(statSync(path.join(home.data, "admin.token")).uid, home.uid);
    const blocked = await service.run("demo", "process.exit(3)");
    assert.equal((blocked.json() as { code: string }).code, "task_exited");
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    await leave(service, home);
  });
});
