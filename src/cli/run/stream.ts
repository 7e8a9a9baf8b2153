import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

import { errorOfAnswer } from "../../../client/src/error-of-answer.ts";
import { errorOfFailure } from "../../../client/src/error.ts";
import { exitOf, EXITS, UsageError } from "../exits.ts";
import { errorLines } from "../fail.ts";
import { printableLines } from "../print/printable.ts";
import { say } from "../print/say.ts";
import type { Target } from "../target/target.ts";
import type { Submission } from "./submission.ts";
import { isBuilding } from "./while-building.ts";

/**
 * Runs a submission and prints its result as it comes, of any size. The answer of `/api/run` has no console.
 *
 * @returns the exit code
 * @throws {CaissonError} if the packages are being built, or if the connection broke
 */
export async function executeStreaming(
  { url, token, fetch }: Target,
  container: string,
  { source, options }: Submission,
  signal?: AbortSignal,
): Promise<number> {
  if (options.timeout !== undefined) throw new UsageError("--timeout and --stream exclude each other");
  const { data, query, modules } = options;
  const isTask = typeof source === "object";
  const search = typeof query === "string" ? `?${query}` : "";
  const body = isTask ? data : { code: source, ...(data !== undefined && { data }), ...(modules && { modules }) };
  const path = `/api/run/${encodeURIComponent(container)}${isTask ? `/${encodeURIComponent(source!.task)}` : ""}`;
  const sent = fetch(`${url}${path}${search}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  try {
    return await show(await sent, url, options.file ?? null);
  } catch (error) {
    throw errorOfFailure(error, url, signal);
  }
}

async function show(answer: Response, url: string, file: string | null): Promise<number> {
  const type = answer.headers.get("content-type") ?? "";
  const fault = answer.headers.get("caisson-fault");
  if (!answer.ok && type.startsWith("application/problem+json")) {
    const error = await errorOfAnswer(answer, url);
    if (isBuilding(error)) throw error;
    const frames = printableLines(error.taskError?.stack ?? "").filter((line) => /^\s+at /.test(line));
    // Without the record, the positions have the name that the service gives to code without a name.
    say(
      ...errorLines(error),
      ...frames.map((line) => line.replaceAll(/\btask\.[jt]s(?=:\d+:\d+)/g, () => file ?? "task.js")),
    );
    return exitOf(error);
  }
  try {
    const body = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
    await (process.stdout.isTTY
      ? pipeline(body, forTerminal(), process.stdout, { end: false })
      : pipeline(body, process.stdout, { end: false }));
  } catch (error) {
    say(`the answer ended early: ${(error as Error).message}`);
    return EXITS.task;
  }
  if (type.startsWith("application/json")) process.stdout.write("\n");
  const hint = answer.headers.get("caisson-hint");
  if (hint !== null) say(hint);
  if (answer.ok) return EXITS.ok;
  say(`the answer has the status ${answer.status}`);
  // An answer without a fault comes from a proxy in front of the service.
  return fault === "task" ? EXITS.task : EXITS.service;
}

/** Returns a stream that writes escapes for characters that act on a terminal. */
function forTerminal(): Transform {
  const decoder = new TextDecoder();
  return new Transform({
    transform: (piece: Buffer, _encoding, done) =>
      done(null, printableLines(decoder.decode(piece, { stream: true })).join("\n")),
  });
}
