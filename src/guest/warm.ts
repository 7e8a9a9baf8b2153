import { encodeCode } from "../wire/messages.ts";
import { now } from "./clock.ts";
import { addCode, forgetCode, startRun } from "./runner.ts";

/** Away from the ids of the service, which counts up from the bottom. */
const FIRST_ID = 0xf000_0000;
/** V8 has its bytecode and inline caches of the whole way after about as many. */
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

/** Whoever is started beside it is ready by then, and whoever comes at once has come. */
const ALONE_MS = 3_000;
/** Between two steps, so that a run that comes waits for one at the most. */
const STEP_MS = 20;
/** Where others want the processor, they keep wanting it for a while, and blanks are taken before they are this old. */
const BUSY_MS = 10_000;

/**
 * For the processor, in a step or before the next: then others want it, the slow parts would take many times as long, and a
 * run that comes would wait for them.
 */
const WAITED_MS = 4;
/** So often in a row it must be there at once before one of the slow parts. */
const SLOW_LOOKS = 10;

const clear = clearTimeout;
const cpuUsage = process.cpuUsage.bind(process);
let nextId = FIRST_ID;

/**
 * Compiles and runs dummies of the common shapes, so that the first real run of a guest is not its slowest. Once: after that
 * all is loaded, and each further round costs a guest that is waited for 3 ms of CPU.
 */
export async function warm(): Promise<void> {
  await tryShapes(0);
}

let idle: NodeJS.Timeout | null = null;
let runsCame = false;

/**
 * The rest of it, and the two parts of Node that take 30 and 50 ms the first time: the HTTP types and the type stripper.
 * Only in a guest that is left alone for a while, step by step: one that is waited for must not be held up by it.
 */
export function warmFurther(): void {
  takeLater(0, ALONE_MS);
}

function takeLater(step: number, afterMs: number): void {
  const looks = step < FURTHER_ROUNDS ? 1 : SLOW_LOOKS;
  idle = setTimeout(() => look(step, looks), afterMs);
}

function look(step: number, looks: number): void {
  const dueMs = now() + STEP_MS;
  idle = setTimeout(() => {
    if (now() - dueMs > WAITED_MS) takeLater(step, BUSY_MS);
    else if (looks > 1) look(step, looks - 1);
    else void take(step);
  }, STEP_MS);
}

async function take(step: number): Promise<void> {
  const startMs = now();
  const start = cpuUsage();
  if (step < FURTHER_ROUNDS) await tryShapes(step + 1);
  else await tryOut(SLOW_PARTS[step - FURTHER_ROUNDS]!);
  if (runsCame || step + 1 === FURTHER_ROUNDS + SLOW_PARTS.length) return;
  const { user, system } = cpuUsage(start);
  const waitedMs = now() - startMs - (user + system) / 1_000;
  takeLater(step + 1, waitedMs > WAITED_MS ? BUSY_MS : 0);
}

/** A run has come. */
export function stopWarming(): void {
  runsCame = true;
  if (idle) clear(idle);
}

async function tryShapes(round: number): Promise<void> {
  await tryOut(`${round} * 7`);
  await tryOut(`const x = ${round}; return x * 7`);
  await tryOut(`module.exports = async (context) => ({ sum: ${round} + context.data.a })`);
  await tryOut(`export default async (context) => ({ sum: ${round} })`);
}

async function tryOut(text: string): Promise<void> {
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
