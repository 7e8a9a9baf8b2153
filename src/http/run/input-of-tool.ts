import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";

import { Problem } from "../../errors.ts";
import { readSubmission } from "../../source/read-submission.ts";
import type { Target } from "../target.ts";
import type { ToolRun } from "../tool-run.ts";
import type { Execution } from "./execution.ts";
import type { RunTarget } from "./find-task.ts";
import { KeptInput } from "./kept-input.ts";
import { ENVELOPE_OPTIONS } from "./record-options.ts";
import type { RunCall } from "./run-call.ts";
import type { RunDependencies } from "./run-dependencies.ts";
import type { RunInput } from "./run-input.ts";

/** What the service runs, as the path of a run would name it. */
export function targetOfTool({ container, what }: ToolRun): { readonly target: Target; readonly path: RunTarget } {
  const target = { path: `/api/runs/${container}`, query: new URLSearchParams(), search: "" };
  return { target, path: { container, task: "task" in what ? what.task : null, isRecorded: true, isOfTool: true } };
}

/** The headers that a task receives: the headers of the message are for the service. */
export function headersOfTool({ "user-agent": agent }: IncomingHttpHeaders): IncomingHttpHeaders {
  return { "content-type": "application/json", ...(agent !== undefined && { "user-agent": agent }) };
}

/**
 * Returns what a tool supplies to its run.
 *
 * @throws {Problem} `code_pinned`, `code_missing`, `code_too_large`, `request_invalid`
 */
export async function inputOfTool(
  { pin, task, memory }: RunCall,
  { what, data, timeout }: ToolRun,
  { config }: Pick<RunDependencies, "config">,
): Promise<RunInput> {
  const options = timeout === undefined ? {} : { timeout };
  if (!("code" in what)) {
    const bytes = data === null ? null : Buffer.from(data);
    const kept = task?.record === "input" && bytes ? new KeptInput(config.inputLimit) : null;
    if (bytes) kept?.add(bytes);
    // A body, and no part of the context: callers that do not trust each other may share the guest, which bounds what it holds of bodies.
    const body = bytes && { source: Readable.from([bytes]), caller: memory.name, mostHeld: bytes.length, onRead: null };
    return { data: null, options, from: null, body, code: null, ranges: null, kept };
  }
  const rest = { data, options, from: null, body: null };
  if (pin?.url !== undefined) {
    throw new Problem("code_pinned", "the token runs the code of one URL, and the tool has other code");
  }
  const ranges = what.packages ?? null;
  if (ranges && pin?.sha256 !== undefined) {
    throw new Problem("code_pinned", "the token permits a single code, which was pinned without packages");
  }
  if (!what.code.isWellFormed()) {
    throw new Problem("request_invalid", "the code has a lone surrogate, which UTF-8 cannot hold");
  }
  const limits = { codeBytes: config.codeLimit, jsonDepth: config.jsonDepthLimit, sha256: pin?.sha256 ?? null };
  const accepted = { ...limits, holder: memory.name, options: ENVELOPE_OPTIONS };
  const { source, typescript, modules } = await readSubmission(Buffer.from(what.code), JAVASCRIPT, accepted);
  return { ...rest, code: { source, typescript, modules, lastValue: true }, ranges, kept: null };
}

const JAVASCRIPT = "text/javascript";

/** Cancels a run when its signal aborts. */
export function cancelWith(signal: AbortSignal, execution: Execution): void {
  const cancel = (): void => execution.cancel(new Problem("run_cancelled", "the run was cancelled by its client"));
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel, { once: true });
}
