import { parentPort } from "node:worker_threads";

import { type OutputUnit, Validator } from "@cfworker/json-schema";

import { threadCpuMs } from "../../thread-cpu-time.ts";
import { READY, type SchemaAnswer, type SchemaRequest } from "./schema-messages.ts";

/** The most faults of an answer, and the most characters of each text in it. */
const MAX_FAULTS = 10;
const MAX_CHARS = 256;
/** A fault of these keywords only reports that a schema inside of them has a fault. */
const OUTER: ReadonlySet<string> = new Set([
  "$ref",
  "properties",
  "allOf",
  "items",
  "prefixItems",
  "patternProperties",
]);

parentPort!.on("message", ({ schema, input }: SchemaRequest) => {
  answer(READY);
  const beforeMs = threadCpuMs();
  const faults = faultsOf(schema, input);
  answer({ faults, cpuMs: threadCpuMs() - beforeMs });
});

function answer(message: SchemaAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message);
}

function faultsOf(schema: SchemaRequest["schema"], input: unknown): Exclude<SchemaAnswer, typeof READY>["faults"] {
  const { $schema: dialect } = schema;
  const draft = typeof dialect === "string" && dialect.includes("draft-07") ? "7" : "2020-12";
  try {
    const { valid, errors } = new Validator(schema, draft, false).validate(input);
    if (valid) return [];
    const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
    return (inner.length > 0 ? inner : errors).slice(0, MAX_FAULTS).map(faultOf);
  } catch (error) {
    // References that lead to themselves exhaust the stack.
    return [{ member: "", detail: `cannot be checked: ${error instanceof Error ? error.message : String(error)}` }];
  }
}

function faultOf({ instanceLocation, error }: OutputUnit): { member: string; detail: string } {
  const member = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
  return { member: member.slice(0, MAX_CHARS), detail: error.slice(0, MAX_CHARS) };
}
