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

/** The fields of proc_pid_stat(5) from the state on; null for a process that has ended. */
function statOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return ["Z", "X"].includes(fields[0]!) ? null : fields;
  } catch {
    return null;
  }
}

/** Another service that starts meanwhile would end it by its group, and nobody could tell who it was. */
function leaveGroups(pid: number): void {
  for (const file of globSync("/sys/fs/cgroup/{cgroup.procs,*/cgroup.procs}")) {
    try {
      writeFileSync(file, String(pid));
    } catch {
      // Only root may, and not in every one.
    }
  }
}

describe("a guest that cannot see whether anybody is there", () => {
  for (const level of ["namespaces", "confined"] as const) {
    it(`dies with the process that has started it, on the level ${level}`, async () => {
      const holder = fork(HOLDER, [level], { env: { ...process.env, TMPDIR: home.tmp } });
      const gone = once(holder, "exit");
      const [pid] = (await once(holder, "message")) as [number];
      const begin = statOf(pid)![19];
      const isThere = (): boolean => statOf(pid)?.[19] === begin;
      try {
        // No thread of it can see that its connection was closed.
        process.kill(pid, "SIGSTOP");
        await until(() => statOf(pid)?.[0] === "T", "it stands still");
        leaveGroups(pid);
        assert.ok(isThere());
        holder.kill("SIGKILL");
        await gone;
        await until(() => !isThere(), "the kernel has taken it along");
      } finally {
        holder.kill("SIGKILL");
        // It would be there for ever.
        if (isThere()) process.kill(pid, "SIGKILL");
      }
    });
  }
});
