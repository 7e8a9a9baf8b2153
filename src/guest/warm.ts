import { encodeCode } from "../wire/messages.ts";
import { addCode, forgetCode, startRun } from "./runner.ts";

/** Away from the ids of the service, which counts up from the bottom. */
const FIRST_ID = 0xf000_0000;
/** V8 has its bytecode and inline caches of the whole way after about as many. */
const ROUNDS = 20;

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

/** Longer than it takes the service to hand a guest to somebody who waits for it. */
const IDLE_MS = 100;

const clear = clearTimeout;
let nextId = FIRST_ID;

/** Compiles and runs dummies of the common shapes, so that the first real run of a guest is not its slowest. */
export async function warm(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await tryOut(`${round} * 7`);
    await tryOut(`const x = ${round}; return x * 7`);
    await tryOut(`module.exports = async (context) => ({ sum: ${round} + context.data.a })`);
    await tryOut(`export default async (context) => ({ sum: ${round} })`);
  }
}

let idle: NodeJS.Timeout | null = null;

/**
 * Loads the two parts of Node that take 30 and 50 ms the first time: the HTTP types and the type stripper. Only in a guest
 * that is left alone for a while, as those in the pool are: one that is waited for must not be held up by it.
 */
export function warmFurther(): void {
  idle = setTimeout(() => {
    idle = setTimeout(() => void tryOut(`const x: number = 6; return x * 7`), IDLE_MS);
    void tryOut(`export default { fetch(request) { return new Response(request.method) } }`);
  }, IDLE_MS);
}

/** A run has come. */
export function stopWarming(): void {
  if (idle) clear(idle);
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
