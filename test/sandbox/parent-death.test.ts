import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type Home, makeHome } from "../contract/service.ts";
import { until } from "../contract/until.ts";

const HOLDER = path.join(import.meta.dirname, "guest-holder.ts");

let home: Home;

before(async () => {
  home = await makeHome();
});
after(() => home[Symbol.asyncDispose]());

/** Returns the fields of proc_pid_stat(5) from the state on, or null for an ended process. */
function statOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return ["Z", "X"].includes(fields[0]!) ? null : fields;
  } catch {
    return null;
  }
}

/** Moves a process out of its groups. Otherwise another service that starts now might kill it, and the test would pass. */
function leaveGroups(pid: number): void {
  for (const file of globSync("/sys/fs/cgroup/{cgroup.procs,*/cgroup.procs}")) {
    try {
      writeFileSync(file, String(pid));
    } catch {
      // Only root may do this, and not in every group.
    }
  }
}

describe("a stopped guest, which cannot notice that its connection is closed,", () => {
  for (const level of ["namespaces", "confined"] as const) {
    it(`ends with the process that started it, at the level ${level}`, async () => {
      const holder = fork(HOLDER, [level], { env: { ...process.env, TMPDIR: home.tmp } });
      const gone = once(holder, "exit");
      const [pid] = (await once(holder, "message")) as [number];
      const startTime = statOf(pid)![19];
      const isAlive = (): boolean => statOf(pid)?.[19] === startTime;
      try {
        // A stopped thread cannot notice that the connection is closed.
        process.kill(pid, "SIGSTOP");
        await until(() => statOf(pid)?.[0] === "T", "the guest is stopped");
        leaveGroups(pid);
        assert.ok(isAlive());
        holder.kill("SIGKILL");
        await gone;
        await until(() => !isAlive(), "the kernel has ended the guest");
      } finally {
        holder.kill("SIGKILL");
        // Otherwise the stopped process would remain for ever.
        if (isAlive()) process.kill(pid, "SIGKILL");
      }
    });
  }
});
