import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { describe, it } from "node:test";

import { leave, makeHome, startService } from "./service.ts";
import { makeUserHome, whyNoUser } from "./user.ts";

describe("--isolation none", () => {
  it("prints a warning, is reported by /healthz, and runs tasks", async () => {
    const home = await makeHome();
    const service = await startService(["--isolation", "none"], home);
    assert.match(service.stdout(), /^isolation: none$/m);
    assert.match(service.stdout(), /WARNING: NO ISOLATION/);
    const health = (await service.request("GET", "/healthz")).json() as { isolation: string };
    assert.equal(health.isolation, "none");
    assert.equal((await service.run("demo", "const x: number = 6; return x * 7")).text, "42");
    const read = await service.run("demo", `(await import("node:fs")).readFileSync("/etc/passwd")`);
    assert.equal(read.status, 500);
    await leave(service, home);
  });

  for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
    it(`does not listen on ${host}, whatever other flags are set`, async () => {
      await assert.rejects(
        startService(["--isolation", "none", "--host", host, "--insecure-http"]),
        /--isolation none does not isolate tasks, so the service listens on loopback only/,
      );
    });
  }
});

describe("a service without bubblewrap", () => {
  it("uses the isolation level confined and never none, and reports it with the reason", async () => {
    const home = await makeHome();
    const bare = path.join(path.dirname(home.data), "programs");
    await mkdir(bare);
    for (const [name, target] of [
      ["dirname", "/usr/bin/dirname"],
      ["node", process.execPath],
    ] as const) {
      await symlink(target, path.join(bare, name));
    }
    const service = await startService([], { ...home, path: bare });
    const why = /namespaces: bubblewrap is not installed/;
    assert.match(
      service.stdout(),
      /^isolation: confined \(.* for each guest, .*Landlock.*\), verified by attacks from inside$/m,
    );
    assert.doesNotMatch(service.stdout(), /NO ISOLATION/);
    assert.match(service.stdout(), new RegExp(`^ {2}instead of ${why.source}`, "m"));
    const health = (await service.request("GET", "/healthz")).json() as { isolation: string; insteadOf: string };
    assert.equal(health.isolation, "confined");
    assert.match(health.insteadOf, why);
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    await leave(service, home);
  });
});

describe("a service that a user starts at the isolation level confined", { skip: whyNoUser() }, () => {
  it("has no launcher and no control group, starts workers, and ends a task that uses too much memory", async () => {
    const home = await makeUserHome();
    const service = await startService(["--isolation", "confined", "--memory-limit", "128MiB"], home);
    assert.match(service.stdout(), /^isolation: confined \(the service's user for each guest, Landlock/m);
    const worker = await service.run(
      "demo",
      `const { Worker } = require("node:worker_threads");
       return new Promise((resolve, reject) => {
         new Worker('require("node:worker_threads").parentPort.postMessage(42)', { eval: true }).on("message", resolve).on("error", reject);
       })`,
    );
    assert.equal(worker.text, "42");
    const greedy = await service.run(
      "demo",
      "const held = []; for (;;) { held.push(Buffer.alloc(8 << 20, 1)); await null }",
    );
    assert.equal((greedy.json() as { code: string }).code, "task_memory");
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    await leave(service, home);
  });
});

describe("a service that a user starts without --isolation", { skip: whyNoUser() }, () => {
  it("works in the same way without a launcher", async () => {
    const home = await makeUserHome();
    const service = await startService([], home);
    assert.match(service.stdout(), /^isolation: namespaces/m);
    assert.doesNotMatch(service.stdout(), /NO ISOLATION/);
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    assert.equal(statSync(path.join(home.data, "admin.token")).uid, home.uid);
    const blocked = await service.run("demo", "process.exit(3)");
    assert.equal((blocked.json() as { code: string }).code, "task_exited");
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    await leave(service, home);
  });
});
