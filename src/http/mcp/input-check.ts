import path from "node:path";
import { Worker } from "node:worker_threads";

import { Problem } from "../../errors.ts";
import { FairQueue } from "../../fair-queue.ts";
import type { Task } from "../../tasks/task.ts";
import { READY, type SchemaAnswer, type SchemaRequest } from "./schema-messages.ts";

const PROGRAM = path.join(import.meta.dirname, `schema-thread${path.extname(import.meta.filename)}`);
/**
 * The longest check. A tenant writes the schema, and a regular expression or references that branch can take any time. So another
 * thread checks it, and ends with a check that takes longer.
 */
const CHECK_MS = 500;
/** The most memory of the thread. A check that needs more costs the thread, and not the service. */
const HEAP_MB = 64;
/** How long a schema whose check took too long is refused at once, and the most such schemas. */
const REFUSED_MS = 60_000;
const MAX_REFUSED = 1_000;

/** One check at a time. Families take turns, so a slow schema makes others wait for one check. */
const queue = new FairQueue(1);
/** The end of the refusal of slow schemas, by the etags of their tasks. */
const refused = new Map<string, number>();
let thread: Worker | null = null;

/**
 * Checks the input of a task against its schema.
 *
 * @param holder the token family of the caller
 * @throws {Problem} `request_invalid` with the faults
 */
export async function checkInput({ etag, input: schema }: Task, input: unknown, holder: string): Promise<void> {
  if (schema === null) return;
  if ((refused.get(etag) ?? 0) > performance.now()) throw tooSlow();
  const faults = await queue.run(holder, () => evaluate({ schema, input }));
  if (faults === null) {
    refuse(etag);
    throw tooSlow();
  }
  if (faults.length === 0) return;
  const violations = faults.map(({ member, detail }) => ({ member, detail }));
  throw new Problem("request_invalid", "the arguments do not match the input schema of the tool", {
    hint: "Nothing was run. Correct the arguments, and call the tool again.",
    violations,
  });
}

/** Starts the thread before its first check, for a service that cannot read its program later. */
export async function loadInputCheck(): Promise<void> {
  await evaluate({ schema: { type: "object" }, input: {} });
}

/** @returns null if the check took too long, or ended the thread */
async function evaluate(request: SchemaRequest): Promise<Exclude<SchemaAnswer, typeof READY> | null> {
  const current = (thread ??= start());
  // The process must not end before the answer, but an idle thread does not keep it alive.
  current.ref();
  const { promise, resolve } = Promise.withResolvers<Exclude<SchemaAnswer, typeof READY> | null>();
  let timer: NodeJS.Timeout | undefined;
  const lost = (): void => resolve(null);
  const receive = (answer: SchemaAnswer): void => {
    if (answer !== READY) return resolve(answer);
    // The start of the thread takes longer than a check.
    timer = setTimeout(lost, CHECK_MS);
  };
  current.on("message", receive).once("exit", lost);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  current.postMessage(request);
  const faults = await promise;
  clearTimeout(timer);
  current.off("message", receive).off("exit", lost).unref();
  if (faults !== null) return faults;
  if (thread === current) thread = null;
  // Until it has ended no other one starts, so that they do not become many.
  await current.terminate();
  return null;
}

function start(): Worker {
  const started = new Worker(PROGRAM, {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 8 },
  });
  // An error is followed by the exit.
  return started.on("error", () => {});
}

function refuse(etag: string): void {
  refused.delete(etag);
  refused.set(etag, performance.now() + REFUSED_MS);
  if (refused.size > MAX_REFUSED) refused.delete(refused.keys().next().value!);
}

function tooSlow(): Problem {
  return new Problem("request_invalid", `the check of the input took longer than ${CHECK_MS} ms; nothing was run`, {
    hint: "The owner of the task must simplify its input schema, such as its patterns and its references.",
  });
}
