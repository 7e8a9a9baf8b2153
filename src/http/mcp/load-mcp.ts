import type { answerMcp } from "./answer-mcp.ts";
import type { loadInputCheck } from "./input-check.ts";

/** Loads the implementation. It takes some ten milliseconds, and most services have no client of this protocol. */
export function loadAnswers(): Promise<{ answerMcp: typeof answerMcp; loadInputCheck: typeof loadInputCheck }> {
  return import("./answer-mcp.ts");
}

/** Loads everything before the first request, for a service that cannot read its program later. */
export async function loadMcp(): Promise<void> {
  const answers = await loadAnswers();
  await answers.loadInputCheck();
}
