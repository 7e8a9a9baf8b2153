import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { probeGuests } from "../../src/containers/guest/probe.ts";
import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { stubProgram } from "../../src/sandbox/plan/stub.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import { RESOURCES } from "./reduced-sandbox.ts";

/** The exit of a stub without a plan, which shows that it ran. */
const RAN = /^exit code 192/;
/** Node aborts when execve is refused. As process 1 it ignores its own signals, so it ends by a fault. */
const REFUSED = /^(?:signal SIG|exit code 1[34]\d)/;

for (const isolation of ["namespaces", "confined"] as const) {
  describe(`a task at the level ${isolation}`, { skip: process.platform !== "linux" }, () => {
    // The filter checks the address of the path, and Landlock checks the file.
    for (const file of ["a file that it wrote", "Node"] as const) {
      it(`cannot execute another program: ${file}`, async (t) => {
        const sandbox = sandboxOf(await openLocalSandbox({ ...RESOURCES, isolation }));
        t.after(() => sandbox.close());
        const guest = await probeGuests(sandbox, RESOURCES.resultBytes)();
        const program = stubProgram(process.arch as Architecture).toString("base64");
        const execute = `
          const { writeFileSync, chmodSync } = await import("node:fs");
          const { tmpdir } = await import("node:os");
          const own = tmpdir() + "/own";
          writeFileSync(own, Buffer.from("${program}", "base64"), { mode: 0o755 });
          const file = ${file === "Node" ? "process.execPath" : "own"};
          process.execve(file, [file, "-e", "process.exit(192)"], {});
        `;
        await guest.run(execute).catch(() => {});
        guest.end();
        const { how } = await guest.process.exited;
        assert.doesNotMatch(how, RAN);
        assert.match(how, REFUSED);
      });
    }
  });
}
