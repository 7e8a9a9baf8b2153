import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { lowerThreads } from "../../src/sandbox/lower-threads.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { prepareRunFolder } from "../../src/sandbox/temp/run-folder.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const USER = 54_322;
/** What an engine does not give to the root of a container. */
const LACKS = ["--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"];

function whyNotAsRoot(): string | false {
  if (!isPrivileged()) return "only root can start a process of another user";
  return spawnSync("setpriv", ["--version"]).status === 0 ? false : "there is no setpriv (util-linux)";
}

describe("the threads of a guest of another user", { skip: whyNotAsRoot() }, () => {
  it("get the highest niceness from a root without CAP_SYS_NICE", async () => {
    const folder = await prepareRunFolder();
    const guest = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1e6)"], {
      uid: USER,
      gid: USER,
    });
    try {
      await once(guest.stdout, "data");
      const [main, ...others] = readdirSync(`/proc/${guest.pid}/task`).map(Number);
      const niceness = getPriority(main);
      const ended = 2 ** 22;
      const call = `await lowerThreads(${guest.pid}, ${JSON.stringify([ended, ...others])}, ${JSON.stringify(folder.stub)})`;
      const code = `import { lowerThreads } from "./src/sandbox/lower-threads.ts"; ${call}`;
      const args = [...LACKS, "scripts/node", "--input-type=module", "--eval", code];
      await promisify(execFile)("setpriv", args, { cwd: ROOT });
      assert.deepEqual(new Set(others.map((thread) => getPriority(thread))), new Set([19]));
      assert.equal(getPriority(main), niceness);
    } finally {
      guest.kill("SIGKILL");
      await folder.remove();
    }
  });
});

it("nothing happens if the guest has ended", async () => {
  await lowerThreads(2 ** 22, [2 ** 22], "/nonexistent");
});
