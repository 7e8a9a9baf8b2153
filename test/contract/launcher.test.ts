import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
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

/** Returns the processes of a service by kind: the service, its launcher, the bubblewraps of its guests. */
async function processesOf(home: Home): Promise<Record<"service" | "launcher" | "wrapper", Process[]>> {
  const found: Record<"service" | "launcher" | "wrapper", Process[]> = { service: [], launcher: [], wrapper: [] };
  for (const folder of globSync("/proc/[0-9]*")) {
    const command = await readFile(`${folder}/cmdline`, "utf8").catch(() => "");
    const environment = await readFile(`${folder}/environ`, "utf8").catch(() => "");
    const kind = command.includes("launcher-process")
      ? "launcher"
      : command.includes("main.js\0serve")
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

describe("a service that root starts", { skip: isPrivileged() ? false : "the tests do not run as root" }, () => {
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
  /** Returns the service that the tests share which only read, and the test that then kills it. */
  const sharedService = async (): Promise<{ home: Home; service: Service }> => (shared ??= await open());
  after(async () => {
    // A test that failed may have left its service running.
    for (const service of services) await service.kill9();
    for (const home of homes) await home[Symbol.asyncDispose]();
  });

  it("gives up root before it serves, and its launcher keeps what guests need", async () => {
    const { home, service } = await sharedService();
    assert.equal((await service.run("demo", "6 * 7")).text, "42");
    let found = await processesOf(home);
    const users = (): Set<number> => new Set(found.wrapper.map(({ uid }) => uid));
    // While the pool is refilled, a guest that starts is visible as several processes.
    await until(async () => {
      found = await processesOf(home);
      return found.launcher.length === 1 && users().size === found.wrapper.length;
    }, "every guest has a separate user");
    assert.equal(found.service.length, 1);
    assert.notEqual(found.service[0]!.uid, 0);
    assert.match(found.service[0]!.capabilities, /^0+$/);
    assert.equal(found.launcher[0]!.uid, 0);
    assert.ok(!users().has(0) && !users().has(found.service[0]!.uid));
  });

  it("lets only root connect to the socket of its guests", async () => {
    const { home } = await sharedService();
    const [socket] = globSync(path.join(home.tmp, "caisson-run-*/guests.sock"));
    assert.equal((await stat(path.dirname(socket!))).mode & 0o077, 0);
    assert.equal((await stat(path.dirname(socket!))).uid, 0);
    const connect = `
      process.setgid(54321);
      process.setuid(54321);
      require("net").connect(process.argv[1]).on("connect", () => console.log("in")).on("error", (e) => console.log(e.code))`;
    const output = execFileSync("scripts/node", ["-e", connect, socket!], { encoding: "utf8" });
    assert.equal(output.trim(), "EACCES");
  });

  it("leaves no launcher, no guest and no file after a kill", async () => {
    const { home, service } = await sharedService();
    await service.run("demo", "globalThis.x = 1");
    await service.kill9();
    await until(async () => (await processesOf(home)).launcher.length === 0, "the launcher has ended");
    assert.deepEqual(await readdir(home.tmp), []);
  });

  it("becomes the user of --user, which then owns the data folder", async () => {
    const { home, service } = await open([...NO_WALL, "--user", "54321"]);
    const found = await processesOf(home);
    assert.equal(found.service[0]!.uid, 54_321);
    for (const name of ["", ...(await readdir(home.data, { recursive: true }))]) {
      assert.equal((await stat(path.join(home.data, name))).uid, 54_321, name);
    }
    await service.stop();
    // Without --user, the service becomes the owner of the folder.
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
    // Its user can open no database there, so the history is in another folder.
    const history = /records of runs, usage and audit are in (\/var\/lib\/caisson\/[0-9a-f]{16}),/.exec(
      again.stderr(),
    )![1]!;
    await leave(again, hidden);
    await rm(history, { recursive: true });
  });

  it("ends with an error when its launcher is killed, and leaves no guest", async () => {
    const { home, service } = await open();
    const { launcher } = await processesOf(home);
    // For a moment, a guest that the launcher starts looks like the launcher.
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

  it("does not start on a data folder that contains a link, and writes nothing to the target", async () => {
    const home = await makeHome();
    homes.push(home);
    await mkdir(home.data);
    const target = path.join(path.dirname(home.data), "target");
    await symlink(target, path.join(home.data, "lock"));
    await chown(home.data, 54_321, 54_321);
    await assert.rejects(startService(NO_WALL, home), /lock is a link/);
    await assert.rejects(stat(target), { code: "ENOENT" });
  });

  it("names an unknown user, and does not start", async () => {
    const home = await makeHome();
    homes.push(home);
    const child = caisson(home, "serve", "--port", "0", ...NO_WALL, "--user", "no-such-user");
    let output = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => (output += text));
    await until(() => child.exitCode !== null, "the service has ended", 30_000);
    assert.equal(child.exitCode, 1);
    assert.match(output, /--user no-such-user: this system has no such user/);
    await until(async () => (await processesOf(home)).launcher.length === 0, "the launcher has ended");
    assert.deepEqual(await readdir(home.tmp), []);
  });
});
