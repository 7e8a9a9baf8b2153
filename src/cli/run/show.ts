import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

import { EXITS } from "./flags.ts";
import { problemLines, withoutControls } from "./problem-lines.ts";

/** Prints the answer of a run: a result to stdout as it arrives, a failure to stderr. @returns the exit code. */
export async function showAnswer(response: IncomingMessage, file: string | null = null): Promise<number> {
  const { statusCode = 0, headers } = response;
  const type = headers["content-type"] ?? "";
  const isResult = statusCode >= 200 && statusCode < 300;
  try {
    if (!isResult && type.startsWith("application/problem+json")) {
      printErrors(problemLines(await text(response), file));
    } else {
      await pipeline(response, process.stdout, { end: false });
      if (type.startsWith("application/json")) process.stdout.write("\n");
      if (typeof headers["caisson-hint"] === "string") printErrors([headers["caisson-hint"]]);
      if (!isResult) printErrors([`the answer has the status ${statusCode}`]);
    }
  } catch (error) {
    printErrors([`the answer ended early: ${(error as Error).message}`]);
    return EXITS.task;
  }
  return isResult ? 0 : exitOf(headers["caisson-fault"]);
}

/** Returns the exit code. An answer without a fault comes from a proxy in front of the service. */
function exitOf(fault: string | string[] | undefined): number {
  return typeof fault === "string" && Object.hasOwn(EXITS, fault) ? EXITS[fault as keyof typeof EXITS] : EXITS.service;
}

function printErrors(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`caisson: ${withoutControls(line)}\n`);
}
