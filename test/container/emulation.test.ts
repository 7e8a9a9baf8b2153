import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { endOf, runContainer } from "./container.ts";
import { buildImage, type Image } from "./image.ts";
import type { RunFlags } from "./oci.ts";
import { whyNoContainer } from "./runtime.ts";
import { ENOSYS, EPERM, LANDLOCK } from "./seccomp-profile.ts";

/** The fourteen default capabilities, as `docker run debian grep CapEff /proc/self/status` prints them. */
const DEFAULT_SET = "00000000a80425fb";
const NONE = "0000000000000000";
/** The number of the call is the same on every processor. With the flag 1 it returns the kernel's version (landlock(7)). */
const LANDLOCK_CREATE_RULESET = 444;

let image: Image;

describe("the emulation of a default container", { skip: whyNoContainer() }, () => {
  before(() => {
    const { rootfs, config } = buildImage();
    image = { rootfs, config: { ...config, entrypoint: ["/bin/sh", "-c"] } };
  });

  it("has the capabilities, the filter and the identity that an engine gives", async () => {
    const status = "grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t\\n' ' '";
    const expected: readonly [RunFlags, string][] = [
      [{}, `Uid: 0 0 0 0 CapEff: ${DEFAULT_SET} CapBnd: ${DEFAULT_SET} NoNewPrivs: 0 Seccomp: 2`],
      [{ user: 1_000 }, `Uid: 1000 1000 1000 1000 CapEff: ${NONE} CapBnd: ${DEFAULT_SET} NoNewPrivs: 0 Seccomp: 2`],
      [
        { capabilities: [], noNewPrivileges: true },
        `Uid: 0 0 0 0 CapEff: ${NONE} CapBnd: ${NONE} NoNewPrivs: 1 Seccomp: 2`,
      ],
    ];
    for (const [flags, line] of expected) assert.equal((await outputOf(status, flags)).trim(), line);
  });

  it("refuses and allows the same calls as an engine's profile", async () => {
    const tries: readonly [string, string][] = [
      ["unshare --user true", "refused"],
      ["unshare --mount true", "refused"],
      ["mount -t tmpfs none /mnt", "refused"],
      ["umount /sys", "refused"],
      ["dmesg", "refused"],
      ["hostname other", "refused"],
      ["chroot / true", "went through"],
      ["setpriv --reuid 12345 --clear-groups true", "went through"],
      ["mknod /tmp/zero c 1 5", "went through"],
    ];
    const script = tries
      .map(([command]) => `${command} >/dev/null 2>&1 && echo went through || echo refused`)
      .join("; ");
    assert.deepEqual(
      (await outputOf(script)).trim().split("\n"),
      tries.map(([, outcome]) => outcome),
    );
  });

  it("forbids writes to the kernel's own files", async () => {
    const files = "/proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/* /sys/fs/cgroup/*/*";
    const script = `for file in ${files}; do test -f "$file" && echo x 2>&- >> "$file" && echo "wrote $file"; done; echo end`;
    const lines = (await outputOf(script)).trim().split("\n");
    assert.deepEqual(
      lines.filter((line) => !/Read-only|Permission denied|Operation not permitted/.test(line)),
      ["end"],
    );
    assert.equal(await outputOf("find /sys/firmware -mindepth 1; cat /proc/keys /proc/timer_list"), "");
  });

  it("is process 1 of separate namespaces, with a separate network interface", async () => {
    const script = `echo $$ $(ls /sys/class/net) $(hostname); test -e /proc/${process.pid} || echo and no more`;
    assert.equal(await outputOf(script), "1 eth0 lo caisson\nand no more\n");
  });

  it("can refuse further calls, like an older kernel or another profile", async () => {
    const script = `perl -e 'print syscall(${LANDLOCK_CREATE_RULESET}, 0, 0, 1) < 0 ? int($!) : "works"'`;
    for (const errno of [EPERM, ENOSYS]) {
      const refused = Object.fromEntries(LANDLOCK.map((name) => [name, errno]));
      assert.equal(await outputOf(script, { refused }), String(errno));
    }
  });
});

/** Returns the output of a script that is process 1 of a container. */
async function outputOf(script: string, flags: RunFlags = {}): Promise<string> {
  const { stdout, stderr } = await endOf(runContainer(image, flags, [script]));
  return stdout + stderr;
}
