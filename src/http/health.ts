import type { IncomingMessage, ServerResponse } from "node:http";

import { recordLosses } from "./api/record-losses.ts";
import type { ApiDependencies } from "./api/route.ts";
import { CORS_HEADERS, SAFETY_HEADERS, VERSION, VERSION_HEADERS } from "./headers.ts";
import { hasBody } from "./read-body.ts";

type HealthDependencies = Pick<
  ApiDependencies,
  "trouble" | "isolation" | "runCounts" | "egressCounts" | "recordStore" | "usage" | "audit" | "drain" | "log"
>;

const PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);
const HEADERS: readonly string[] = [
  ...VERSION_HEADERS,
  ...CORS_HEADERS,
  "Cache-Control",
  "no-store",
  ...SAFETY_HEADERS,
];

/** Returns whether the service takes runs, and what it has lost. `headers` has only those of this answer. */
export function healthOf(dependencies: HealthDependencies): {
  status: number;
  body: Record<string, unknown>;
  headers: readonly string[];
} {
  const { trouble, isolation, runCounts, egressCounts } = dependencies;
  const reason = trouble();
  const { level, fallbackReason } = isolation;
  const fallback = fallbackReason === null ? {} : { insteadOf: fallbackReason };
  const { failedUnheard } = runCounts;
  const failures = failedUnheard === 0 ? {} : { failedUnheard };
  const { refused } = egressCounts;
  const denials = Object.keys(refused).length === 0 ? {} : { egressRefused: refused };
  const losses = recordLosses(dependencies);
  const records = Object.keys(losses).length === 0 ? {} : { records: losses };
  const more = { ...fallback, ...failures, ...denials, ...records };
  const body = { status: reason ?? "ok", isolation: level, ...more, version: VERSION };
  return { status: reason === null ? 200 : 503, body, headers: reason === null ? [] : ["Caisson-Fault", "service"] };
}

/**
 * Answers the usual request of a probe without the API, which a service that only runs code then never loads.
 *
 * @returns false, without an effect, for any other request
 */
export function answerProbe(
  request: IncomingMessage,
  response: ServerResponse,
  dependencies: HealthDependencies,
): boolean {
  if (request.method !== "GET" || !PATHS.has(request.url!) || hasBody(request)) return false;
  const { status, body, headers } = healthOf(dependencies);
  const json = JSON.stringify(body);
  const length = ["Content-Type", "application/json", "Content-Length", String(Buffer.byteLength(json))];
  response.writeHead(status, [...length, ...headers, ...HEADERS]).end(json);
  return true;
}
