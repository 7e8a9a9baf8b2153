import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

import { EXITS } from "./flags.ts";
import { problemLines, withoutControls } from "./problem-lines.ts";

/** Prints a run's answer: a result to stdout as it comes, and why there is none to stderr. Gives the exit code. */
export async function showAnswer(response: IncomingMessage): Promise<number> {
  const { statusCode = 0, headers } = response;
  const type = headers["content-type"] ?? "";
  const isResult = statusCode >= 200 && statusCode < 300;
  try {
    if (!isResult && type.startsWith("application/problem+json")) {
      tell(problemLines(await text(response)));
    } else {
      await pipeline(response, process.stdout, { end: false });
      if (type.startsWith("application/json")) process.stdout.write("\n");
      if (!isResult) tell([`the answer has the status ${statusCode}`]);
    }
  } catch (error) {
    tell([`the answer broke off: ${(error as Error).message}`]);
    return EXITS.task;
  }
  return isResult ? 0 : exitOf(headers["caisson-fault"]);
}

/** Whoever answers without saying whose fault it is, is no caisson but something in front of it. */
function exitOf(fault: string | string[] | undefined): number {
  return typeof fault === "string" && Object.hasOwn(EXITS, fault) ? EXITS[fault as keyof typeof EXITS] : EXITS.service;
}

function tell(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`caisson: ${withoutControls(line)}\n`);
}
