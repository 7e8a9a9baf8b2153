import assert from "node:assert/strict";
import { once } from "node:events";
import { globSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, it, type TestContext } from "node:test";

import { Guest } from "../../src/containers/guest.ts";
import { type Mechanisms, openConfined } from "../../src/sandbox/confined.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { GuestProcess } from "../../src/sandbox/sandbox.ts";
import { refuseOpenWall } from "../../src/sandbox/self-test/self-test.ts";
import { prepareRunFolder } from "../../src/sandbox/temp/run-folder.ts";
import { FROM_GUEST } from "../../src/wire/messages.ts";
import { LIMITS } from "../containers/puppet.ts";
import { start } from "../containers/recorder.ts";
import { makeHome } from "../contract/service.ts";
import { Trail } from "../contract/trail.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";
import { confinements, openConfinedBy } from "./confined-by.ts";
import { testSandbox } from "./reduced-sandbox.ts";

/** Launches a guest and waits for its ready frame. */
async function launch(t: TestContext, mechanisms: Mechanisms): Promise<{ guest: GuestProcess; pid: number }> {
  const sandbox = await openConfinedBy(mechanisms, SANDBOX_OPTIONS);
  t.after(() => sandbox.close());
  const guest = await sandbox.launch();
  const [first] = (await once(guest.socket, "data")) as Buffer[];
  assert.equal(first![4], FROM_GUEST.ready);
  return { guest, pid: (await guest.inspect())!.pid };
}

async function ready(t: TestContext, mechanisms: Mechanisms): Promise<Guest> {
  const sandbox = await openConfinedBy(mechanisms, SANDBOX_OPTIONS);
  t.after(() => sandbox.close());
  return new Guest(await sandbox.launch(), LIMITS).ready();
}

for (const [name, mechanisms] of await confinements()) {
  describe(`a guest ${name}`, () => {
    it("has no privileges, has a filter, and has a separate user if the service can give it one", async (t) => {
      const { pid } = await launch(t, mechanisms);
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      assert.match(status, /^NoNewPrivs:\t1$/m);
      assert.match(status, /^Seccomp:\t2$/m);
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"])
        assert.match(status, new RegExp(`^${set}:\t0+$`, "m"));
      const uids = /^Uid:\t(.*)$/m.exec(status)![1]!.split("\t").map(Number);
      assert.equal(new Set(uids).size, 1);
      assert.equal(uids[0] !== process.getuid!(), mechanisms.ownUsers);
    });

    it("has limits for descriptors, file size and core files, and has no file of the host open", async (t) => {
      const { pid } = await launch(t, mechanisms);
      const limits = await readFile(`/proc/${pid}/limits`, "utf8");
      const expected = {
        "open files": 128,
        "core file size": 0,
        "file size": SANDBOX_OPTIONS.tmpBytes,
        "locked memory": 0,
      };
      for (const [limit, value] of Object.entries({ ...expected, "msgqueue size": 0 })) {
        assert.match(limits, new RegExp(`^Max ${limit}\\s+${value}\\s+${value}`, "m"));
      }
      if (mechanisms.ownUsers) assert.match(limits, new RegExp(`^Max processes\\s+${SANDBOX_OPTIONS.threads} `, "m"));
      const targets = globSync(`/proc/${pid}/fd/*`).map((file) => readlink(file).catch(() => ""));
      for (const target of await Promise.all(targets)) {
        assert.match(
          target,
          /^(?:\/|\/dev\/null|(?:socket|pipe|anon_inode):.*|)$|\/caisson-run-[^/]+\/jail\/roots\/\d+$/,
        );
      }
    });

    it("cannot read files of the host or of another guest", async (t) => {
      const sandbox = await openConfinedBy(mechanisms, SANDBOX_OPTIONS);
      t.after(() => sandbox.close());
      const make = async (): Promise<Guest> => new Guest(await sandbox.launch(), LIMITS).ready();
      const [one, other] = await Promise.all([make(), make()]);
      const wrote = start(one, `require("node:fs").writeFileSync("mine", "x"); return process.cwd()`);
      const folder = JSON.parse((await wrote.outcome()).slice("result ".length)) as string;
      const ofHost = ["/etc/passwd", "/proc/self/environ", "/bin/sh", process.execPath, import.meta.filename];
      const own = (await other.process.inspect())!.pid;
      const others = mechanisms.jail ? [] : [folder, `${folder}/mine`];
      for (const file of [...ofHost, `/proc/${process.pid}/environ`, `/proc/${own}/mem`, tmpdir(), "/dev", ...others]) {
        if (!mechanisms.jail && file === process.execPath) continue;
        const code = `const fs = require("node:fs"); const at = ${JSON.stringify(file)};
          for (const tryIt of [() => fs.readFileSync(at), () => fs.readdirSync(at)]) { try { tryIt(); return "read" } catch (error) {
            if (!["EACCES", "ENOENT", "EPERM", "ENOTDIR"].includes(error.code) && error.code !== "EISDIR") return error.code } }
          return "refused"`;
        const outcome = await start(other, code).outcome();
        const isOwnTmp = mechanisms.jail && file === "/tmp";
        assert.equal(outcome, isOwnTmp ? 'result "read"' : 'result "refused"', file);
      }
    });

    it("can start worker threads", async (t) => {
      const guest = await ready(t, mechanisms);
      const code = `const { Worker } = require("node:worker_threads");
        return new Promise((resolve, reject) => {
          new Worker('require("node:worker_threads").parentPort.postMessage(42)', { eval: true }).on("message", resolve).on("error", reject);
        })`;
      assert.equal(await start(guest, code).outcome(), "result 42");
    });

    it("is killed when it fills its temporary disk, even with removed files that are still open", async (t) => {
      for (const remove of ["", "fs.unlinkSync(String(n));"]) {
        const guest = await ready(t, mechanisms);
        const code = `const fs = require("node:fs"); const held = [];
          for (let n = 0; n < 24; n++) { held.push(fs.openSync(String(n), "w")); fs.writeSync(held.at(-1), Buffer.alloc(1 << 20)); ${remove} }
          await new Promise(() => {}); held`;
        assert.equal(await start(guest, code).outcome(), "task_exited");
        assert.equal((await guest.process.exited).outOfDisk, true);
      }
    });

    it("is killed when it fills its temporary disk, even with files that a check cannot find", async (t) => {
      const attempts = {
        "a folder that the guest keeps renaming": `fs.mkdirSync("0"); let n = 0;
          const move = () => fs.renameSync(String(n), String(++n));
          for (let file = 0; file < 24; file++) { fs.writeFileSync(n + "/" + file, Buffer.alloc(1 << 20)); move() }
          for (;;) move();`,
        "names that are invalid UTF-8": `for (let n = 0; n < 24; n++) fs.writeFileSync(Buffer.from([255, 65 + n]), Buffer.alloc(1 << 20));
          await new Promise(() => {});`,
        "so many names that a check takes long": `for (let n = 0; n < 2_100; n++) {
            fs.closeSync(fs.openSync(String(n), "w")); if (n % 100 === 0) await new Promise(setImmediate) }
          await new Promise(() => {});`,
      };
      for (const [what, code] of Object.entries(attempts)) {
        const guest = await ready(t, mechanisms);
        const outcome = await start(guest, `const fs = require("node:fs"); ${code}`).outcome();
        assert.equal(outcome, "task_exited", what);
        assert.equal((await guest.process.exited).outOfDisk, true, what);
      }
    });

    it("leaves no files after its end, even in folders that are deep or closed", async () => {
      await using home = await makeHome();
      const search = process.env["TMPDIR"];
      process.env["TMPDIR"] = home.tmp;
      const sandbox = await openConfinedBy(mechanisms, SANDBOX_OPTIONS);
      if (search === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = search;
      const guest = await new Guest(await sandbox.launch(), LIMITS).ready();
      const code = `const fs = require("node:fs");
        for (let n = 0; n < 40; n++) { const name = "d".repeat(250); fs.mkdirSync(name); process.chdir(name); }
        fs.mkdirSync("closed", { mode: 0 }); return 1`;
      // A check cannot read folders that are this deep, so it may count them as over the limit and kill the guest.
      assert.match(await start(guest, code).outcome(), /^(?:result 1|task_exited)$/);
      await sandbox.close();
      assert.deepEqual(await new Trail({ ...home, data: home.tmp }).files(), []);
    });

    it("passes every check of the self-test", async () => {
      const checks = await testSandbox(await openConfinedBy(mechanisms, SANDBOX_OPTIONS));
      refuseOpenWall(checks);
      assert.ok(checks.some(({ layer, outcome }) => layer === "namespaces" && outcome === "weak"));
    });
  });
}

describe("openConfined", () => {
  it("rejects with the missing mechanisms if neither a separate root nor Landlock is available", async () => {
    const folder = await prepareRunFolder();
    const none = { ownUsers: false, jail: false, landlockAbi: 0 };
    await assert.rejects(openConfined(folder, SANDBOX_OPTIONS, none), /no Landlock.*start it as root.*CAP_SYS_CHROOT/);
    await folder.remove();
  });

  it("starts guests that report the failed step if they cannot be confined", async () => {
    const sandbox = await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: "confined", descriptors: 2 ** 40 });
    const guest = sandbox.start("pipe");
    assert.match((await guest.exited).how, /the guest could not be confined: limit of nofile/);
    await sandbox.close();
  });
});
