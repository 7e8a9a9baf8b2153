import assert from "node:assert/strict";

import type { Answer } from "./http.ts";

/** The members of a problem document that the tests check. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  run?: string;
  hint?: string;
  retryAfter?: number;
  retryAfterMs?: number;
  violations?: Record<string, unknown>[];
  error?: { name: string; message: string; stack?: string };
}

const SERVICE_CODES = ["container_restarted", "sandbox_failed", "internal_error"];
/** Data of the host that no answer may contain: folders, paths of modules, the text of a token. */
const HOST_DATA = /\/work\/|\/tmp\/caisson|\/home\/|\/root\/|\/usr\/|node_modules|file:\/\/|node:internal|eyJ[\w-]{8}/;

/**
 * Asserts that an answer is a valid problem document with this status and code.
 *
 * @param fault the party at fault, if it is not that of the code.
 * @returns the document
 */
export function assertProblem(
  answer: Answer,
  status: number,
  code: string,
  fault: string = faultOf(status, code),
): ProblemDocument {
  assert.equal(`${answer.status} ${codeOf(answer)}`, `${status} ${code}`, answer.text);
  assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json\b/);
  const problem = answer.json() as ProblemDocument;
  assert.equal(problem.status, status);
  assert.equal(problem.type.slice(problem.type.indexOf("#") + 1), code);
  assert.ok(problem.title.length > 0);
  assert.ok(problem.detail.length > 0);
  assert.doesNotMatch(answer.text, HOST_DATA);
  assert.equal(answer.headers["caisson-fault"], fault);
  assert.equal(problem.run, answer.headers["caisson-run"]);
  assert.ok(answer.headers["caisson-version"]);
  if (status === 403) assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer realm="caisson"/);
  if (status === 405) assert.ok(answer.headers["allow"]);
  return problem;
}

function codeOf(answer: Answer): string {
  try {
    return (answer.json() as ProblemDocument).code;
  } catch {
    return "without a problem document";
  }
}

function faultOf(status: number, code: string): string {
  if (code.startsWith("task_url_")) return "caller";
  if (SERVICE_CODES.includes(code) || status === 503) return "service";
  if (code === "task_error" || code.startsWith("result_") || code.startsWith("task_")) return "task";
  return status === 429 || code === "quota_exceeded" ? "limit" : "caller";
}
