import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { groupFolders } from "../../../src/sandbox/cgroup/cgroup-mounts.ts";

const UNIFIED = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const VERSION_1 = `30 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct
32 30 0:29 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory
33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`;
/** A container without a cgroup namespace. It sees only its own groups, with the host's path. */
const CONTAINER = `32 30 0:29 /docker/abc /sys/fs/cgroup/memory rw master:11 - cgroup cgroup rw,memory`;

describe("the folder of a process's group", () => {
  it("is the path of the group below the mount of version 2", () => {
    const folders = groupFolders(UNIFIED, "0::/system.slice/caisson.service\n");
    assert.deepEqual([...folders], [["cgroup2", "/sys/fs/cgroup/system.slice/caisson.service"]]);
    assert.equal(groupFolders(UNIFIED, "0::/\n").get("cgroup2"), "/sys/fs/cgroup");
  });

  it("is separate for each controller under version 1, unless controllers are mounted together", () => {
    const folders = groupFolders(VERSION_1, "3:memory:/user\n2:cpu,cpuacct:/\n0::/x\n");
    assert.deepEqual(Object.fromEntries(folders), {
      memory: "/sys/fs/cgroup/memory/user",
      cpu: "/sys/fs/cgroup/cpu,cpuacct",
      cpuacct: "/sys/fs/cgroup/cpu,cpuacct",
      cgroup2: "/sys/fs/cgroup/unified/x",
    });
  });

  it("is relative to the group at the root of the mount", () => {
    assert.equal(groupFolders(CONTAINER, "3:memory:/docker/abc\n").get("memory"), "/sys/fs/cgroup/memory");
    assert.equal(groupFolders(CONTAINER, "3:memory:/docker/abc/x\n").get("memory"), "/sys/fs/cgroup/memory/x");
  });

  it("is missing if no mount shows it", () => {
    for (const group of ["/", "/docker", "/docker/abcd", "/docker/ab", "/../abc"]) {
      assert.equal(groupFolders(CONTAINER, `3:memory:${group}\n`).get("memory"), undefined, group);
    }
    assert.equal(groupFolders("", "0::/\n").size, 0);
    assert.equal(groupFolders(UNIFIED, "1:name=systemd:/\n").size, 0);
  });
});
