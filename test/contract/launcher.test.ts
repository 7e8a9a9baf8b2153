import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, stat, symlink } from "node:fs/promises";
import path from "node:path";
import { after, describe, it } from "node:test";

import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { caisson, type Home, leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  readonly capabilities: string;
}

/** The processes of a service by what they are: itself, its launcher, its guests' bubblewraps. */
async function processesOf(home: Home): Promise<Record<"service" | "launcher" | "wrapper", Process[]>> {
  const found: Record<"service" | "launcher" | "wrapper", Process[]> = { service: [], launcher: [], wrapper: [] };
  for (const folder of globSync("/proc/[0-9]*")) {
    const command = await readFile(`${folder}/cmdline`, "utf8").catch(() => "");
    const environment = await readFile(`${folder}/environ`, "utf8").catch(() => "");
    const kind = command.includes("launcher-process")
      ? "launcher"
      : command.includes("main.ts\0serve")
        ? "service"
        : "wrapper";
    if (!command.includes(home.tmp) && !(kind === "service" && environment.includes(home.tmp))) continue;
    const status = await readFile(`${folder}/status`, "utf8").catch(() => "");
    found[kind].push({
      pid: Number(path.basename(folder)),
      parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]),
      uid: Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]),
      capabilities: /^CapEff:\s+(\S+)/m.exec(status)?.[1] ?? "",
    });
  }
  return found;
}

describe("a service that root starts", { skip: isPrivileged() ? false : "only root has something to give up" }, () => {
  const homes: Home[] = [];
  const services: Service[] = [];
  const open = async (flags: readonly string[] = []): Promise<{ home: Home; service: Service }> => {
    const home = await makeHome();
    homes.push(home);
    const service = await startService(flags, home);
    services.push(service);
    return { home, service };
  };
  let shared: { home: Home; service: Service } | null = null;
  /** The one service of the tests that only look, and of the one that kills it then. */
  const walled = async (): Promise<{ home: Home; service: Service }> => (shared ??= await open());
  after(async () => {
    // A test that failed may not have stopped its own.
    for (const service of services) await service.kill9();
    for (const home of homes) await home[Symbol.asyncDispose]();
  });

  it("gives root up before it serves, and a launcher beside it keeps what guests need", async () => {
    const { home, service } = await walled();
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    let found = await processesOf(home);
    const users = (): Set<number> => new Set(found.wrapper.map(({ uid }) => uid));
    // While the pool is refilled, a guest that is being started shows as more than one process.
    await until(async () => {
      found = await processesOf(home);
      return found.launcher.length === 1 && users().size === found.wrapper.length;
    }, "every guest has a user of its own");
    assert.equal(found.service.length, 1);
    assert.notEqual(found.service[0]!.uid, 0);
    assert.match(found.service[0]!.capabilities, /^0+$/);
    assert.equal(found.launcher[0]!.uid, 0);
    assert.ok(!users().has(0) && !users().has(found.service[0]!.uid));
  });

  it("lets nobody but root connect to the socket of its guests", async () => {
    const { home } = await walled();
    const [socket] = globSync(path.join(home.tmp, "caisson-run-*/guests.sock"));
    assert.equal((await stat(path.dirname(socket!))).mode & 0o077, 0);
    assert.equal((await stat(path.dirname(socket!))).uid, 0);
    const connect = `
      process.setgid(54321);
      process.setuid(54321);
      require("net").connect(process.argv[1]).on("connect", () => console.log("in")).on("error", (e) => console.log(e.code))`;
    const said = execFileSync("scripts/node", ["-e", connect, socket!], { encoding: "utf8" });
    assert.equal(said.trim(), "EACCES");
  });

  it("leaves no launcher, no guest and no file when it is killed", async () => {
    const { home, service } = await walled();
    await service.run("demo", "globalThis.x = 1");
    await service.kill9();
    await until(async () => (await processesOf(home)).launcher.length === 0, "the launcher has ended");
    assert.deepEqual(await readdir(home.tmp), []);
  });

  it("becomes the user that is named, who owns the data folder from then on", async () => {
    const { home, service } = await open([...NO_WALL, "--user", "54321"]);
    const found = await processesOf(home);
    assert.equal(found.service[0]!.uid, 54_321);
    for (const name of ["", ...(await readdir(home.data, { recursive: true }))]) {
      assert.equal((await stat(path.join(home.data, name))).uid, 54_321, name);
    }
    await service.stop();
    // The owner of the folder is who it becomes when nobody is named.
    const again = await startService(NO_WALL, home);
    assert.equal((await processesOf(home)).service[0]!.uid, 54_321);
    assert.equal((await again.run("demo", "6 * 7")).text, "42");
    await leave(again, home);
  });

  it("reaches its data below a folder that only root may enter, and keeps its counts there", async () => {
    const home = await makeHome();
    homes.push(home);
    const hidden = { ...home, data: path.join(path.dirname(home.data), "hidden", "data") };
    await mkdir(path.dirname(hidden.data));
    await chmod(path.dirname(hidden.data), 0o700);
    const service = await startService([...NO_WALL, "--container-limit", "day=5"], hidden);
    for (let count = 0; count < 3; count++) await service.run("demo", "1");
    const token = await service.issue({ containers: ["demo"] });
    await service.kill9();
    const again = await startService([...NO_WALL, "--container-limit", "day=5"], hidden);
    const record = (await again.request("GET", "/api/limits/container/demo", { token })).json() as { day: number };
    assert.equal(record.day, 2);
    assert.equal((await again.run("demo", "6 * 7", { token })).text, "42");
    await leave(again, hidden);
  });

  it("ends with an error when its launcher is killed, and leaves no guest", async () => {
    const { home, service } = await open();
    const { launcher } = await processesOf(home);
    // A guest that it is just starting looks like it for a moment.
    process.kill(launcher.find(({ parent }) => parent === service.pid)!.pid, "SIGKILL");
    await until(async () => {
      const found = await processesOf(home);
      return found.service.length + found.launcher.length + found.wrapper.length === 0;
    }, "the service and its guests have ended");
    assert.match(service.stderr(), /the launcher ended.*the service stops/);
    const again = await startService([], home);
    assert.equal((await again.run("demo", "6 * 7")).text, "42");
    await again.stop();
    assert.deepEqual(await readdir(home.tmp), []);
  });

  it("does not start on a data folder in which a link leads it elsewhere, and writes nothing there", async () => {
    const home = await makeHome();
    homes.push(home);
    await mkdir(home.data);
    const target = path.join(path.dirname(home.data), "target");
    await symlink(target, path.join(home.data, "lock"));
    await chown(home.data, 54_321, 54_321);
    await assert.rejects(startService(NO_WALL, home), /lock is a link/);
    await assert.rejects(stat(target), { code: "ENOENT" });
  });

  it("says what is wrong with the user that is named, and does not start", async () => {
    const home = await makeHome();
    homes.push(home);
    const child = caisson(home, "serve", "--port", "0", ...NO_WALL, "--user", "no-such-user");
    let said = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => (said += text));
    await until(() => child.exitCode !== null, "the service has given up", 30_000);
    assert.equal(child.exitCode, 1);
    assert.match(said, /--user no-such-user: this system has no such user/);
    await until(async () => (await processesOf(home)).launcher.length === 0, "the launcher has ended");
    assert.deepEqual(await readdir(home.tmp), []);
  });
});
