import assert from "node:assert/strict";

import type { Answer } from "../contract/http.ts";
import { assertProblem, type ProblemDocument } from "../contract/problem.ts";

/** An accepted answer to an attack. */
export interface Expectation {
  /** The source text of the expectation. */
  readonly text: string;
  readonly status: number;
  /** The code of a problem; null if the task itself has answered. */
  readonly code: string | null;
  /** Whether the body was cut in a way that a client detects. */
  readonly cut: boolean;
  /** Whether the body, or the problem's detail, matches. */
  readonly matches: (text: string) => boolean;
}

/**
 * Parses an expectation. `200 42` requires that body, `200 /4./` a matching body, `200` any body, and `200 cut` a body that
 * was cut. `500 task_threw` requires that problem, and `500 task_threw EPERM` also that text in its detail.
 */
export function parseExpectation(text: string): Expectation {
  const [, status, rest] = /^(\d{3})\b ?(.*)$/.exec(text) ?? [];
  if (status === undefined) throw new TypeError(`"${text}" has no status`);
  const [, code, detail] = /^([a-z]+_[a-z_]+)\b ?(.*)$/.exec(rest!) ?? [];
  const pattern = /^\/(.*)\/$/.exec(rest!);
  return {
    text,
    status: Number(status),
    code: code ?? null,
    cut: rest === "cut",
    matches: (actual) => {
      if (code !== undefined) return actual.includes(detail!);
      if (pattern) return new RegExp(pattern[1]!, "s").test(actual);
      return rest === "" || rest === "cut" || actual === rest;
    },
  };
}

/** Asserts that an answer is one of the accepted answers, and has the properties of every answer to a run. */
export function assertAnswer(answer: Answer, expected: readonly Expectation[]): void {
  const problem = problemOf(answer);
  if (problem) assertProblem(answer, answer.status, problem.code);
  const text = problem ? problem.detail : answer.text;
  const fits = expected.some((each) => {
    const same = each.status === answer.status && each.code === (problem?.code ?? null);
    return same && each.cut === !answer.complete && each.matches(text);
  });
  assert.ok(fits, `received ${outcomeOf(answer)}: ${answer.text.slice(0, 1_000)}`);
  assertOwnHeaders(answer);
}

/** Returns the text for an answer in the table. */
export function outcomeOf(answer: Answer): string {
  const what = problemOf(answer)?.code ?? answer.text.slice(0, 40).replaceAll(/\s+/g, " ");
  return `${answer.status} ${what}${answer.complete ? "" : " (cut)"}`;
}

/** Asserts that only the service sets its own headers, and headers that make a browser or a proxy act for it. */
function assertOwnHeaders(answer: Answer): void {
  const names = answer.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  for (const once of ["caisson-run", "x-content-type-options", "content-security-policy", "referrer-policy"]) {
    assert.equal(names.filter((name) => name === once).length, 1, `${once} is sent once`);
  }
  assert.match(answer.headers["content-security-policy"]!, /^sandbox\b/);
  assert.ok(names.filter((name) => name === "content-length" || name === "transfer-encoding").length <= 1);
  const foreign = names.filter((name) =>
    /^(?:set-cookie|x-accel-(?!buffering$)|x-sendfile|x-forwarded-|strict-transport|clear-site|access-control-allow-credentials)/.test(
      name,
    ),
  );
  assert.deepEqual(foreign, []);
  // The service sets this header for a streamed body, because nginx must not buffer it.
  assert.ok(["no", undefined].includes(answer.headers["x-accel-buffering"]));
}

function problemOf(answer: Answer): ProblemDocument | null {
  const isProblem = answer.headers["content-type"]?.startsWith("application/problem+json") ?? false;
  return isProblem ? (answer.json() as ProblemDocument) : null;
}
