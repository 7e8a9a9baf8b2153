import type { Problem } from "../../errors.ts";
import { perWindow } from "../../units.ts";
import { problemAnswer } from "../problem.ts";
import { cut } from "./cut.ts";
import type { ToolResult } from "./tool.ts";

/** The most bytes of the text of a result: models pay for each, and some clients cut longer texts. */
export const MAX_TEXT_BYTES = 8_192;

/** The result of a call that the service has refused. Nothing has run. */
export function refused(problem: Problem): ToolResult {
  const { code, message, options } = problem;
  const { hint, retryAfterMs } = options;
  const lines = [`${message} (${code}).`, ...(hint === undefined ? [] : [`hint: ${hint}`])];
  if (retryAfterMs !== undefined) lines.push(whenToRetry(retryAfterMs));
  const { body } = problemAnswer(problem);
  const text = cut([...lines, ...windows(options.violations)].join("\n"), MAX_TEXT_BYTES);
  return { content: [{ type: "text", text }], structuredContent: JSON.parse(body) as object, isError: true };
}

function whenToRetry(retryAfterMs: number): string {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return `Nothing was run. Try again in ${seconds} s (retryAfterMs ${Math.ceil(retryAfterMs)}).`;
}

/** Names each exhausted window of a limit, or each fault of the arguments. */
function windows(violations: readonly object[] | undefined): string[] {
  return (violations ?? []).slice(0, MAX_VIOLATIONS).map((violation) => {
    const { member = "", detail, window, limit, retryAfterMs, class: of } = violation as Violation;
    if (detail !== undefined) return `- ${member} ${detail}`;
    if (window === undefined) return `- ${JSON.stringify(violation)}`;
    return `- limit of the ${of}: ${limit} ${perWindow(window)}, free in ${retryAfterMs} ms`;
  });
}

/** One of the forms that the violations of a problem have. */
interface Violation {
  readonly member?: string;
  readonly detail?: string;
  readonly class?: string;
  readonly window?: string;
  readonly limit?: number;
  readonly retryAfterMs?: number;
}

const MAX_VIOLATIONS = 20;
