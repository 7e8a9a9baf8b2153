import { isUtf8 } from "node:buffer";

import type { AnsweredRunRecord, Caisson, CaissonError } from "../../../client/src/index.ts";
import { unsentHint } from "../deploy/source.ts";
import { EXITS, exitOfCode } from "../exits.ts";
import { errorLines } from "../fail.ts";
import { printableJson, printableLines } from "../print/printable.ts";
import { say } from "../print/say.ts";
import { runErrorLines } from "../runs/error-lines.ts";
import type { Submission } from "./submission.ts";
import { isBuilding } from "./while-building.ts";

/**
 * Runs a submission. Prints the lines of the console to stderr as they come, the result to stdout, and the reason of a failure to
 * stderr.
 *
 * @param json whether the record is printed instead of the result
 * @returns the exit code
 * @throws {CaissonError} if the run was not admitted, if its packages are being built, or if the connection broke
 */
export async function execute(
  caisson: Caisson,
  container: string,
  submission: Submission,
  json: boolean,
  signal?: AbortSignal,
): Promise<number> {
  const { source, options } = submission;
  let exitCode: number = EXITS.ok;
  for await (const event of caisson.stream(container, source, { ...options, signal })) {
    if (event.type === "console")
      process.stderr.write(
        printableLines(event.text)
          .map((line) => `${line}\n`)
          .join(""),
      );
    else if (event.type === "error" && isBuilding(event.error)) throw event.error;
    else if (event.type === "error") exitCode = exitOfCode(event.error.code, event.error.status);
    else if (event.type === "result" && !json) exitCode = await printResult(event.value);
    else if (event.type === "record") {
      exitCode ||= exitOfResponse(event.record);
      if (json) process.stdout.write(`${printableJson(event.record)}\n`);
      printEnd(event.record, exitCode);
    }
    if (event.type === "error" && !json) printError(event.error, submission);
  }
  return exitCode;
}

function printError(error: CaissonError, { fileName, unsent }: Submission): void {
  const { record } = error;
  if (error.code === "result_truncated")
    return say(...errorLines(error).slice(0, 1), "add --stream to print results of any size");
  if (!record?.error) return say(...errorLines(error));
  const hint = unsentHint(record.error.message, unsent) ?? record.error.hint;
  return say(...runErrorLines({ ...record.error, hint }, fileName));
}

function printEnd({ hint, error, dropped, status }: AnsweredRunRecord, exitCode: number): void {
  if (dropped && dropped.lines > 0) say(`${dropped.lines} lines of the console were dropped`);
  if (status === "ok" && error === null && hint !== null && exitCode === EXITS.ok) say(...printableLines(hint));
}

/** A task that answers with a status other than 2xx has failed for its caller. */
function exitOfResponse({ response }: AnsweredRunRecord): number {
  return response !== null && (response.status < 200 || response.status > 299) ? EXITS.task : EXITS.ok;
}

/** Prints a value as JSON, and a `Response` byte for byte. @returns the exit code */
async function printResult(value: unknown): Promise<number> {
  if (!(value instanceof Response)) {
    process.stdout.write(`${printableJson(value, 0)}\n`);
    return EXITS.ok;
  }
  printBytes(Buffer.from(await value.arrayBuffer()), value.headers.get("content-type") ?? "");
  if (value.ok) return EXITS.ok;
  say(`the answer has the status ${value.status}`);
  return EXITS.task;
}

/** A terminal executes control characters. Files and other programs get the same bytes. */
export function printBytes(bytes: Buffer, type: string): void {
  const end = type.startsWith("application/json") ? "\n" : "";
  if (!process.stdout.isTTY) {
    process.stdout.write(bytes);
    if (end !== "") process.stdout.write(end);
  } else if (isUtf8(bytes)) {
    process.stdout.write(printableLines(bytes.toString()).join("\n") + end);
  } else say(`the result is ${bytes.length} bytes of ${type || "no type"}; redirect stdout to a file to keep it`);
}
