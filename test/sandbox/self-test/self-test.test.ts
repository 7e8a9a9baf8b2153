import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sandboxOf } from "../../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../../src/sandbox/open-local-sandbox.ts";
import { type Check, LAYERS } from "../../../src/sandbox/self-test/check.ts";
import { refuseOpenWall } from "../../../src/sandbox/self-test/self-test.ts";
import { ownLandlock } from "../landlock.ts";
import { NO_PLAN, RESOURCES, testSandbox, testReducedSandbox, withMounts, without } from "../reduced-sandbox.ts";

const NOT_ALL = (missing: string): string =>
  ["ipc", "pid", "net", "uts", "cgroup"]
    .filter((kind) => kind !== missing)
    .map((kind) => `--unshare-${kind}`)
    .join(" ");

/** Returns a script that shares one namespace with the host. */
function sharing(kind: string): string {
  return `${without("--unshare-all")}; set -- ${NOT_ALL(kind)} "$@"`;
}

/** The layers of the level `namespaces`, which has all of them. */
const ITS_LAYERS = new Set(Object.keys(LAYERS).filter((layer) => layer !== "namespaces"));

function openOnes(checks: readonly Check[]): string[] {
  return checks.filter(({ outcome }) => outcome === "open").map(({ layer, tried }) => `${layer}: ${tried}`);
}

const landlock = await ownLandlock();
const isRoot = process.getuid?.() === 0;

describe("an unchanged sandbox", () => {
  it("passes every check, and every layer has at least one check", async () => {
    const checks = await testReducedSandbox("");
    assert.deepEqual(openOnes(checks), []);
    assert.deepEqual(new Set(checks.map(({ layer }) => layer)), ITS_LAYERS);
    refuseOpenWall(checks);
    if (isRoot)
      assert.deepEqual(
        checks.filter(({ outcome }) => outcome !== "held"),
        [],
      );
  });
});

describe("a sandbox without one of its layers", () => {
  const NAMESPACE = "its namespace";
  const reduced: [string, string, string[]][] = [
    [
      "the plan: the system-call filter, Landlock and limits",
      NO_PLAN,
      [
        "system calls: its filters",
        "host user: its user on the host",
        "network: connect over IPv4",
        "network: connect over IPv6",
        "network: connect to an abstract socket",
        "network: send a datagram",
        "network: list network devices by netlink",
        "descriptors: open more files than the limit",
        "memory: use more than the limit",
        "user namespace: create another below it, without the filter",
        "system calls: by native code",
      ],
    ],
    ["the seal", without("--setenv", 3), ["system calls: its filters", "system calls: load native code that it wrote"]],
    ["a network namespace", sharing("net"), [`network namespace: ${NAMESPACE}`]],
    [
      "a limit of user namespaces",
      without("--disable-userns"),
      ["user namespace: create another below it, without the filter"],
    ],
    ["an IPC namespace", sharing("ipc"), [`IPC namespace: ${NAMESPACE}`]],
    ["a UTS namespace", `${without("--hostname", 2)}; ${sharing("uts")}`, [`UTS namespace: ${NAMESPACE}`]],
    ["a cgroup namespace", sharing("cgroup"), [`cgroup namespace: ${NAMESPACE}`]],
    [
      "dropping capabilities",
      `${without("--cap-drop", 2)}; set -- --cap-add ALL "$@"`,
      ["capabilities: its five sets"],
    ],
    ["a limit of its temporary folder", without("--size", 2), ["temporary disk: fill its temporary folder"]],
  ];
  for (const [what, script, expected] of reduced) {
    it(`fails the self-test: ${what}`, async () => {
      const checks = await testReducedSandbox(script);
      assert.deepEqual(openOnes(checks), expected);
      assert.throws(
        () => refuseOpenWall(checks),
        ({ message }: Error) => expected.every((each) => message.includes(each)),
      );
    });
  }
});

describe("a sandbox without Landlock and without another layer that limits its files", () => {
  const reduced: [string, string, string[]][] = [
    [
      "an empty root",
      withMounts("--ro-bind", "/etc", "/etc", "--ro-bind", "/bin/sh", "/bin/sh", "--dev", "/dev"),
      ["files: read a file of the host", "files: read the host's users", "files: list devices"],
    ],
    // An empty /proc: if V8 can read the maps of its process, it maps its code a second time, and the seal ends it.
    ["hiding processes", withMounts("--dir", "/proc"), ["files: list processes"]],
    ["a read-only root", without("--remount-ro", 2), ["files: write outside its temporary folder"]],
  ];
  for (const [what, script, expected] of reduced) {
    it(`fails the self-test: ${what}`, async () => {
      const checks = await testReducedSandbox(script, {}, 0);
      assert.deepEqual(openOnes(checks), expected);
      assert.deepEqual(
        checks.filter(({ layer }) => layer === "Landlock").map(({ outcome }) => outcome),
        ["weak"],
      );
    });
  }
});

describe("Landlock inside namespaces", () => {
  it("refuses to open files that are in the root by mistake", { skip: landlock === 0 && "there is none" }, async () => {
    const script = withMounts(
      "--ro-bind",
      "/etc/passwd",
      "/etc/passwd",
      "--ro-bind",
      "/bin/sh",
      "/bin/sh",
      "--proc",
      "/proc",
    );
    assert.deepEqual(openOnes(await testReducedSandbox(script)), []);
  });
});

describe("the level none", () => {
  it("is open in every layer of the kernel, and weak where Node's permission flags refuse an attack", async () => {
    const checks = await testSandbox(sandboxOf(await openLocalSandbox({ ...RESOURCES, isolation: "none" })));
    const open = new Set(checks.filter(({ outcome }) => outcome === "open").map(({ layer }) => layer));
    for (const layer of ["user namespace", "network namespace", "system calls", "network", "temporary disk"] as const) {
      assert.ok(open.has(layer), layer);
    }
    const weak = checks.filter(({ outcome }) => outcome === "weak").map(({ tried }) => tried);
    for (const tried of ["read the host's users", "list processes", "start a process"])
      assert.ok(weak.includes(tried), tried);
    assert.throws(() => refuseOpenWall(checks), /^Error: the sandbox does not hold: user namespace/);
  });
});

describe("a sandbox whose limits differ from the promised limits", () => {
  it("fails the self-test if the control group allows more memory, threads and CPU", { skip: !isRoot }, async () => {
    const promised = { memoryBytes: RESOURCES.memoryBytes / 2, threads: 40, cpuCores: 0.5 };
    const checks = await testReducedSandbox("", promised);
    assert.deepEqual(openOnes(checks), [
      "memory: its control group",
      "threads: its control group",
      "processor: its control group",
      "memory: use more than the limit",
    ]);
  });

  it("is weak, and not open, if no group limits CPU", { skip: !isRoot }, async () => {
    const checks = await testReducedSandbox("", { cpuCores: 0.5, held: { memory: true, cpu: false } });
    assert.deepEqual(openOnes(checks), []);
    assert.deepEqual(
      checks.filter(({ layer }) => layer === "processor").map(({ outcome }) => outcome),
      ["weak"],
    );
  });
});
