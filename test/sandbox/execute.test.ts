import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { probeGuests } from "../../src/containers/guest/probe.ts";
import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { stubProgram } from "../../src/sandbox/plan/stub.ts";
import type { Architecture } from "../../src/sandbox/seccomp/system-calls.ts";
import { RESOURCES } from "./thinned-wall.ts";

/** How the stub ends that was given no plan: a sign that it ran. */
const RAN = /^exit code 192/;
/** Node aborts when it is refused; as process 1, whom no signal of its own ends, by a fault. */
const REFUSED = /^(?:signal SIG|exit code 1[34]\d)/;

for (const isolation of ["namespaces", "confined"] as const) {
  describe(`a task on the level ${isolation}`, { skip: process.platform !== "linux" }, () => {
    // What the filter decides by the place of the path, Landlock decides by the file.
    for (const file of ["one of its own", "Node"] as const) {
      it(`cannot put another program in its guest's place: ${file}`, async (t) => {
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
