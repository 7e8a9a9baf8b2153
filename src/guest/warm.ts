import { encodeCode } from "../wire/code-message.ts";
import { now } from "./clock.ts";
import { addCode, forgetCode, startRun } from "./runner.ts";

/** Far from the ids of the service, which counts up from 1. */
const FIRST_ID = 0xf000_0000;
/** After about this many rounds, V8 has bytecode and inline caches for the whole path of a run. */
const FURTHER_ROUNDS = 19;

const SLOW_PARTS = [
  `export default { fetch(request) { return new Response(request.method) } }`,
  `const x: number = 6; return x * 7`,
];

const REQUEST = Buffer.from(
  JSON.stringify({
    runId: "warm",
    container: "warm",
    method: "POST",
    url: "http://localhost/api/run/warm?a=1",
    headers: { "content-type": "application/json" },
    body: { a: 1 },
  }),
);

/** The delay before the first round. A run that waits for the guest arrives before. */
const FIRST_MS = 50;
/**
 * The delay before the further warm-up, which takes 0.1 s of processor time. By then, guests started at the same time are ready
 * and an immediate run has arrived, and a service that lives for a moment has ended.
 */
const ALONE_MS = 10_000;
/** The pause between two steps, so that an arriving run waits for at most one step. */
const STEP_MS = 20;
/** The pause on a busy machine. Load usually lasts a while, and spares are taken before they reach this age. */
const BUSY_MS = 10_000;

/**
 * A longer wait for the CPU, in a step or before the next, means that the machine is busy. The slow parts would then take
 * many times as long, and an arriving run would wait for them.
 */
const BUSY_WAIT_MS = 4;
/** The number of successive checks without a wait that must precede a slow part. */
const SLOW_PART_CHECKS = 10;

const clear = clearTimeout;
const immediate = setImmediate;
const cpuUsage = process.cpuUsage.bind(process);
let nextId = FIRST_ID;

/** Compiles and runs examples of the common shapes once, so that the code cache has all functions of a run. */
export async function warm(): Promise<void> {
  for (const shape of SHAPES) await runExample(shape(0));
}

let timer: NodeJS.Timeout | null = null;
let hasReceivedRun = false;

/**
 * Runs the common shapes, so that the first real run is not the slowest, and later further rounds of them, and then the two parts of
 * Node that take 30 and 50 ms the first time: the HTTP types and the type stripper. It runs only in a guest that is idle, and
 * step by step, so that it does not delay a real run. A guest for which a run waits executes none of it: the common shapes would
 * take 7 ms of its 45, and a run needs only its own.
 */
export function warmWhileIdle(): void {
  timer = setTimeout(() => void runFirstRound(), FIRST_MS);
}

async function runFirstRound(): Promise<void> {
  for (const shape of SHAPES) {
    await runExample(shape(0));
    // An arriving run waits for one shape at most.
    await new Promise((resolve) => immediate(resolve));
    if (hasReceivedRun) return;
  }
  scheduleStep(0, ALONE_MS);
}

function scheduleStep(step: number, afterMs: number): void {
  const checks = step < FURTHER_ROUNDS ? 1 : SLOW_PART_CHECKS;
  timer = setTimeout(() => checkLoad(step, checks), afterMs);
}

function checkLoad(step: number, checks: number): void {
  const dueMs = now() + STEP_MS;
  timer = setTimeout(() => {
    if (now() - dueMs > BUSY_WAIT_MS) scheduleStep(step, BUSY_MS);
    else if (checks > 1) checkLoad(step, checks - 1);
    else void runStep(step);
  }, STEP_MS);
}

async function runStep(step: number): Promise<void> {
  const startMs = now();
  const start = cpuUsage();
  if (step < FURTHER_ROUNDS) for (const shape of SHAPES) await runExample(shape(step + 1));
  else await runExample(SLOW_PARTS[step - FURTHER_ROUNDS]!);
  if (hasReceivedRun || step + 1 === FURTHER_ROUNDS + SLOW_PARTS.length) return;
  const { user, system } = cpuUsage(start);
  const waitedMs = now() - startMs - (user + system) / 1_000;
  scheduleStep(step + 1, waitedMs > BUSY_WAIT_MS ? BUSY_MS : 0);
}

/** Stops the warm-up when the first real run arrives. */
export function stopWarming(): void {
  hasReceivedRun = true;
  if (timer) clear(timer);
}

const SHAPES: readonly ((round: number) => string)[] = [
  (round) => `${round} * 7`,
  (round) => `const x = ${round}; return x * 7`,
  (round) => `module.exports = async (context) => ({ sum: ${round} + context.data.a })`,
  (round) => `export default async (context) => ({ sum: ${round} })`,
];

async function runExample(text: string): Promise<void> {
  const id = nextId;
  nextId += 1;
  const codeId = Buffer.alloc(4);
  codeId.writeUInt32LE(id);
  addCode(id, Buffer.concat(encodeCode({ source: Buffer.from(text), typescript: false, modules: null })));
  await new Promise((resolve) => {
    startRun(id, Buffer.concat([codeId, REQUEST]), resolve);
  });
  forgetCode(id);
}
