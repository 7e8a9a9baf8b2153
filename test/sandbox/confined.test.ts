import assert from "node:assert/strict";
import { once } from "node:events";
import { globSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { after, before, describe, it } from "node:test";

import { Guest } from "../../src/containers/guest/guest.ts";
import { type Mechanisms, openConfined } from "../../src/sandbox/confined.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
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

/** Each test waits for its own guest most of the time. */
const AT_ONCE = 2;

for (const [name, means] of await confinements()) {
  describe(`a guest ${name}`, { concurrency: AT_ONCE }, () => holdPromises(means));
  describe(`a sandbox whose guests are ${name}`, () => holdSandbox(means));
}

function holdPromises(means: Mechanisms): void {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await openConfinedBy(means, SANDBOX_OPTIONS);
  });
  after(() => sandbox?.close());

  /** The process id of a guest that has reported that it is ready. */
  const launch = async (): Promise<number> => {
    const guest = await sandbox.launch();
    const [first] = (await once(guest.socket, "data")) as Buffer[];
    assert.equal(first![4], FROM_GUEST.ready);
    return (await guest.inspect())!.pid;
  };
  const ready = async (): Promise<Guest> => new Guest(await sandbox.launch(), LIMITS).ready();

  it("has no privileges, has a filter, and has a separate user if the service can give it one", async () => {
    const pid = await launch();
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^Seccomp:\t2$/m);
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) assert.match(status, new RegExp(`^${set}:\t0+$`, "m"));
    const uids = /^Uid:\t(.*)$/m.exec(status)![1]!.split("\t").map(Number);
    assert.equal(new Set(uids).size, 1);
    assert.equal(uids[0] !== process.getuid!(), means.ownUsers);
  });

  it("has limits for descriptors, file size and core files, and has no file of the host open", async () => {
    const pid = await launch();
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
    if (means.ownUsers) assert.match(limits, new RegExp(`^Max processes\\s+${SANDBOX_OPTIONS.threads} `, "m"));
    const targets = globSync(`/proc/${pid}/fd/*`).map((file) => readlink(file).catch(() => ""));
    for (const target of await Promise.all(targets)) {
      assert.match(
        target,
        /^(?:\/|\/dev\/null|(?:socket|pipe|anon_inode):.*|)$|\/caisson-run-[^/]+\/jail\/roots\/\d+$/,
      );
    }
  });

  it("cannot read files of the host or of another guest", async () => {
    const [one, other] = await Promise.all([ready(), ready()]);
    const wrote = start(one, `require("node:fs").writeFileSync("mine", "x"); return process.cwd()`);
    const folder = JSON.parse((await wrote.outcome()).slice("result ".length)) as string;
    const places = ["/etc/passwd", "/proc/self/environ", "/bin/sh", process.execPath, import.meta.filename];
    const own = (await other.process.inspect())!.pid;
    const others = means.jail ? [] : [folder, `${folder}/mine`];
    for (const file of [...places, `/proc/${process.pid}/environ`, `/proc/${own}/mem`, tmpdir(), "/dev", ...others]) {
      if (!means.jail && file === process.execPath) continue;
      const code = `const fs = require("node:fs"); const at = ${JSON.stringify(file)};
          for (const tryIt of [() => fs.readFileSync(at), () => fs.readdirSync(at)]) { try { tryIt(); return "read" } catch (error) {
            if (!["EACCES", "ENOENT", "EPERM", "ENOTDIR"].includes(error.code) && error.code !== "EISDIR") return error.code } }
          return "refused"`;
      const outcome = await start(other, code).outcome();
      const isOwnTmp = means.jail && file === "/tmp";
      assert.equal(outcome, isOwnTmp ? 'result "read"' : 'result "refused"', file);
    }
  });

  it("starts workers", async () => {
    const guest = await ready();
    const code = `const { Worker } = require("node:worker_threads");
        return new Promise((resolve, reject) => {
          new Worker('require("node:worker_threads").parentPort.postMessage(42)', { eval: true }).on("message", resolve).on("error", reject);
        })`;
    assert.equal(await start(guest, code).outcome(), "result 42");
  });

  /** Runs code in a new guest, and asserts that the guest is ended for the disk that it takes. */
  const isEnded = async (what: string, code: string): Promise<void> => {
    const guest = await ready();
    const outcome = await start(guest, `const fs = require("node:fs"); ${code}`).outcome();
    assert.equal(outcome, "task_exited", what);
    assert.equal((await guest.process.exited).outOfDisk, true, what);
  };

  it("is ended when it fills its temporary disk, also by files that it has removed and holds open", async () => {
    const removals = ["", "fs.unlinkSync(String(n));"].map((remove) => {
      const code = `const held = [];
        for (let n = 0; n < 24; n++) { held.push(fs.openSync(String(n), "w")); fs.writeSync(held.at(-1), Buffer.alloc(1 << 20)); ${remove} }
        await new Promise((never) => setTimeout(never, 60_000)); held`;
      return isEnded(remove, code);
    });
    await Promise.all(removals);
  });

  it("is ended when it fills its temporary disk, also under names that no look at it finds", async () => {
    const attempts = {
      "a folder that is renamed without a pause": `fs.mkdirSync("0"); let n = 0;
        const move = () => fs.renameSync(String(n), String(++n));
        for (let file = 0; file < 24; file++) { fs.writeFileSync(n + "/" + file, Buffer.alloc(1 << 20)); move() }
        for (;;) move();`,
      "names that are no text": `for (let n = 0; n < 24; n++) fs.writeFileSync(Buffer.from([255, 65 + n]), Buffer.alloc(1 << 20));
        await new Promise((never) => setTimeout(never, 60_000));`,
      "so many names that a look takes long": `for (let n = 0; n < 2_100; n++) {
          fs.closeSync(fs.openSync(String(n), "w")); if (n % 100 === 0) await new Promise(setImmediate) }
        await new Promise((never) => setTimeout(never, 60_000));`,
    };
    await Promise.all(Object.entries(attempts).map(([what, code]) => isEnded(what, code)));
  });
}

/** One at a time: the first moves the folder of this process's temporary files. */
function holdSandbox(means: Mechanisms): void {
  it("leaves nothing of what a guest wrote, however the guest left it", async () => {
    await using home = await makeHome();
    const search = process.env["TMPDIR"];
    process.env["TMPDIR"] = home.tmp;
    const sandbox = await openConfinedBy(means, SANDBOX_OPTIONS);
    if (search === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = search;
    const guest = await new Guest(await sandbox.launch(), LIMITS).ready();
    const code = `const fs = require("node:fs");
        for (let n = 0; n < 40; n++) { const name = "d".repeat(250); fs.mkdirSync(name); process.chdir(name); }
        fs.mkdirSync("closed", { mode: 0 }); return 1`;
    // The check cannot read folders at this depth, and counts them as over the limit.
    assert.match(await start(guest, code).outcome(), /^(?:result 1|task_exited)$/);
    await sandbox.close();
    assert.deepEqual(await new Trail({ ...home, data: home.tmp }).files(), []);
  });

  it("stands every check of the self-test", async () => {
    const checks = await testSandbox(await openConfinedBy(means, SANDBOX_OPTIONS));
    refuseOpenWall(checks);
    assert.ok(checks.some(({ layer, outcome }) => layer === "namespaces" && outcome === "weak"));
  });
}

describe("openConfined", () => {
  it("refuses where there is neither a root to be given nor Landlock, and names what is missing", async () => {
    const folder = await prepareRunFolder();
    const means = { ownUsers: false, jail: false, landlockAbi: 0 };
    await assert.rejects(openConfined(folder, SANDBOX_OPTIONS, means), /no Landlock.*start it as root.*CAP_SYS_CHROOT/);
    await folder.remove();
  });

  it("names the step that a guest could not be confined by", async () => {
    const wall = await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: "confined", descriptors: 2 ** 40 });
    const guest = wall.start("pipe");
    assert.match((await guest.exited).how, /the guest could not be confined: limit of nofile/);
    await wall.close();
  });
});
