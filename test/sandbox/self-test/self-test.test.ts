import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sandboxOf } from "../../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../../src/sandbox/open-local-sandbox.ts";
import { type Check, LAYERS } from "../../../src/sandbox/self-test/check.ts";
import { refuseOpenWall } from "../../../src/sandbox/self-test/self-test.ts";
import { ownLandlock } from "../landlock.ts";
import { NO_PLAN, RESOURCES, testSandbox, testThinnedWall, withMounts, without } from "../thinned-wall.ts";

const NOT_ALL = (missing: string): string =>
  ["ipc", "pid", "net", "uts", "cgroup"]
    .filter((kind) => kind !== missing)
    .map((kind) => `--unshare-${kind}`)
    .join(" ");

/** The real wall but for one namespace. */
function sharing(kind: string): string {
  return `${without("--unshare-all")}; set -- ${NOT_ALL(kind)} "$@"`;
}

/** Of the level that has them all. */
const ITS_LAYERS = new Set(Object.keys(LAYERS).filter((layer) => layer !== "namespaces"));

function openOnes(checks: readonly Check[]): string[] {
  return checks.filter(({ outcome }) => outcome === "open").map(({ layer, tried }) => `${layer}: ${tried}`);
}

const landlock = await ownLandlock();
const isRoot = process.getuid?.() === 0;

describe("the wall as it is made", () => {
  it("stands every check, and every layer has at least one", async () => {
    const checks = await testThinnedWall("");
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

describe("a wall without one of its layers", () => {
  const BESIDE = "its namespace";
  const thinned: [string, string, string[]][] = [
    [
      "the plan: the system-call filter, Landlock and limits",
      NO_PLAN,
      [
        "system calls: its filters",
        "network: connect over IPv4",
        "network: connect over IPv6",
        "network: connect to an abstract socket",
        "network: send a datagram",
        "network: ask the kernel for its devices by netlink",
        "descriptors: open files without end",
        "user namespace: another below it, without the filter",
        "system calls: by native code",
      ],
    ],
    ["the seal", without("--setenv", 3), ["system calls: its filters", "system calls: load native code that it wrote"]],
    ["a network namespace", sharing("net"), [`network namespace: ${BESIDE}`]],
    [
      "a limit of user namespaces",
      without("--disable-userns"),
      ["user namespace: another below it, without the filter"],
    ],
    ["an IPC namespace", sharing("ipc"), [`IPC namespace: ${BESIDE}`]],
    ["a UTS namespace", `${without("--hostname", 2)}; ${sharing("uts")}`, [`UTS namespace: ${BESIDE}`]],
    ["a cgroup namespace", sharing("cgroup"), [`cgroup namespace: ${BESIDE}`]],
    [
      "dropping capabilities",
      `${without("--cap-drop", 2)}; set -- --cap-add ALL "$@"`,
      ["capabilities: its five sets"],
    ],
    ["a bound to its temporary folder", without("--size", 2), ["temporary disk: fill its temporary folder"]],
  ];
  for (const [what, script, expected] of thinned) {
    it(`is found out: ${what}`, async () => {
      const checks = await testThinnedWall(script);
      assert.deepEqual(openOnes(checks), expected);
      assert.throws(
        () => refuseOpenWall(checks),
        ({ message }: Error) => expected.every((each) => message.includes(each)),
      );
    });
  }
});

describe("a wall without one of the layers that bound its files, and without Landlock, which is a second such", () => {
  const thinned: [string, string, string[]][] = [
    [
      "an empty root",
      withMounts("--ro-bind", "/etc", "/etc", "--ro-bind", "/bin/sh", "/bin/sh", "--dev", "/dev"),
      ["files: read a file of the host", "files: read the host's users", "files: list devices"],
    ],
    // Empty: with the maps of its own process in it, V8 maps its code a second time, and is ended by the seal.
    ["hiding processes", withMounts("--dir", "/proc"), ["files: list processes"]],
    ["a root that is read-only", without("--remount-ro", 2), ["files: write outside its temporary folder"]],
  ];
  for (const [what, script, expected] of thinned) {
    it(`is found out: ${what}`, async () => {
      const checks = await testThinnedWall(script, {}, 0);
      assert.deepEqual(openOnes(checks), expected);
      assert.deepEqual(
        checks.filter(({ layer }) => layer === "Landlock").map(({ outcome }) => outcome),
        ["weak"],
      );
    });
  }
});

describe("Landlock within namespaces", () => {
  it(
    "keeps what is in the root by mistake from being opened",
    { skip: landlock === 0 && "there is none" },
    async () => {
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
      assert.deepEqual(openOnes(await testThinnedWall(script)), []);
    },
  );
});

describe("no wall", () => {
  it("is open in every layer of the kernel's, and names what Node's own flags still refuse as weak", async () => {
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

describe("a wall whose limits are not what was promised", () => {
  it("is found out where the control group allows more memory, threads and time", { skip: !isRoot }, async () => {
    const promised = { memoryBytes: RESOURCES.memoryBytes / 2, threads: 40, cpuCores: 0.5 };
    const checks = await testThinnedWall("", promised);
    assert.deepEqual(openOnes(checks), [
      "memory: its control group",
      "threads: its control group",
      "processor: its control group",
      "memory: take more than that",
    ]);
  });

  it("is weak, and not open, where no group was to limit the time", { skip: !isRoot }, async () => {
    const checks = await testThinnedWall("", { cpuCores: 0.5, held: { memory: true, cpu: false } });
    assert.deepEqual(openOnes(checks), []);
    assert.deepEqual(
      checks.filter(({ layer }) => layer === "processor").map(({ outcome }) => outcome),
      ["weak"],
    );
  });
});
