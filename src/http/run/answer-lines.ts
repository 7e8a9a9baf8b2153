import type { KeyUsage } from "../../limits/store.ts";
import { CORS_HEADERS, SAFETY_HEADERS, VERSION_HEADERS } from "../headers.ts";
import { rateLimitHeaders } from "../ratelimit-headers.ts";
import { headerLines } from "../write-head.ts";

export const JSON_TYPE: readonly string[] = ["Content-Type", "application/json"];
/** The sandbox gives a task's page no origin, so that it cannot act in the origin of the service and its console. */
const SANDBOX = "sandbox allow-scripts allow-forms";
/** The policy if the URL contains a token. Without scripts, the page cannot read it, even if the task is public. */
const SANDBOX_OF_KEY = "sandbox allow-forms";

/** The lines that are the same in all buffered answers. */
const CONSTANT = headerLines([...SAFETY_HEADERS, ...VERSION_HEADERS, ...CORS_HEADERS, "Cache-Control", "no-store"]);
const POLICY = headerLines(sandboxHeaders(false));
const POLICY_OF_KEY = headerLines(sandboxHeaders(true));
export const JSON_LINES: string = headerLines(JSON_TYPE);

/** @param hasKey whether the URL contains a token */
export function sandboxHeaders(hasKey: boolean): string[] {
  return ["Content-Security-Policy", hasKey ? SANDBOX_OF_KEY : SANDBOX];
}

/** Returns the headers of a buffered answer as lines, without its type and length. The service chooses all their values. */
export function linesOf(
  run: string,
  { timing, usage, hasKey }: { timing: string; usage: readonly KeyUsage[]; hasKey: boolean },
): string {
  const own = `Caisson-Run: ${run}\r\nServer-Timing: ${timing}\r\n`;
  return own + headerLines(rateLimitHeaders(usage)) + (hasKey ? POLICY_OF_KEY : POLICY) + CONSTANT;
}
