/**
 * Attacks on the resources of a container, each with its end. `block` and `wall` are deadlines, by which the answer must
 * arrive. `itself` means that the attack ends before the wall deadline, or hits a limit.
 */
export interface Bomb {
  readonly kind: string;
  readonly code: string;
  readonly ends: "block" | "wall" | "itself";
  /** The accepted answers: codes of problems, or `200`. */
  readonly answers: readonly string[];
}

const BREATH = "const breath = () => new Promise(setImmediate);";
const FRAMES = `const { writeSync } = require("node:fs");
  const forged = (type, text) => { const f = Buffer.alloc(9 + text.length); f.writeUInt32LE(f.length - 4); f[4] = type;
    f.writeUInt32LE(4e9, 5); f.write(text, 9); return f };
  const send = (bytes) => { for (let at = 0; at < bytes.length;) try { at += writeSync(3, bytes, at) } catch (e) { if (e.code !== "EAGAIN") throw e } };`;

export const BOMBS: readonly Bomb[] = [
  ...[
    "for (;;);",
    "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "const again = () => queueMicrotask(again); again(); await new Promise((never) => setTimeout(never, 60_000))",
    "/^(a+)+$/.test('a'.repeat(64) + 'b')",
    "({ toJSON() { for (;;); } })",
  ].map((code) => ({ kind: "blocks", code, ends: "block", answers: ["task_blocked"] }) as const),
  // Nothing is left in the guest that could call back, which the service notices unless the guest has other runs.
  { kind: "never calls back", code: "(cb) => {}", ends: "wall", answers: ["task_stalled", "task_timeout"] },
  ...[
    "await new Promise((never) => setTimeout(never, 60_000))",
    "setInterval(() => {}, 1); await new Promise((never) => setTimeout(never, 60_000))",
  ].map((code) => ({ kind: "never answers", code, ends: "wall", answers: ["task_timeout"] }) as const),
  ...[
    `${BREATH} const all = []; for (;;) { all.push(new Array(100_000).fill({})); await breath() }`,
    `${BREATH} const all = []; for (;;) { all.push(Buffer.alloc(4 << 20, 1)); await breath() }`,
  ].map((code) => ({ kind: "memory", code, ends: "itself", answers: ["task_memory"] }) as const),
  {
    kind: "workers",
    code: `const { Worker } = require("node:worker_threads");
      for (let n = 0; n < 200; n++) new Worker("for (;;);", { eval: true }).on("error", () => {}); return 1`,
    ends: "itself",
    answers: ["200", "task_threw", "task_memory", "task_exited", "task_blocked"],
  },
  {
    kind: "disk",
    code: "const fs = require('node:fs'); for (let n = 0; ; n++) fs.writeFileSync(`/tmp/${n}`, Buffer.alloc(1 << 20))",
    ends: "itself",
    answers: ["task_threw", "task_memory"],
  },
  {
    kind: "descriptors",
    code: "const fs = require('node:fs'); for (;;) fs.openSync('/bin/node')",
    ends: "itself",
    answers: ["task_threw", "task_exited"],
  },
  {
    kind: "log",
    code: "for (let n = 0; n < 20_000; n++) console.log('x'.repeat(200)); return 1",
    ends: "itself",
    answers: ["200"],
  },
  ...["process.exit(3)", "process.reallyExit(3)", "process.abort()"].map(
    (code) => ({ kind: "exits", code, ends: "itself", answers: ["task_exited", "task_threw"] }) as const,
  ),
  {
    kind: "forged frames",
    code: `${FRAMES} send(Buffer.alloc(64, 0xa5)); await new Promise((never) => setTimeout(never, 60_000))`,
    ends: "itself",
    answers: ["task_exited"],
  },
  {
    kind: "forged frames",
    code: `${FRAMES} const many = Buffer.concat(Array(5000).fill(forged(65, "1"))); for (let n = 0; n < 50; n++) send(many); await new Promise((never) => setTimeout(never, 60_000))`,
    ends: "itself",
    answers: ["task_exited"],
  },
  ...[
    "fetch('http://127.0.0.1:1/')",
    "fetch('http://169.254.169.254/latest/meta-data/')",
    "fetch('http://[::ffff:10.0.0.1]/')",
  ].map((code) => ({ kind: "egress", code: `await ${code}`, ends: "itself", answers: ["task_threw"] }) as const),
];
