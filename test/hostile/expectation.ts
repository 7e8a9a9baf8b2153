import assert from "node:assert/strict";

import type { Answer } from "../contract/http.ts";
import { assertProblem, type ProblemDocument } from "../contract/problem.ts";

/** One answer that an attack may get. */
export interface Expectation {
  /** As it is written. */
  readonly text: string;
  readonly status: number;
  /** Of a problem; null where the task itself has answered. */
  readonly code: string | null;
  /** The body broke off, which a client can see. */
  readonly cut: boolean;
  /** Of the body, or of the problem's detail. */
  readonly matches: (text: string) => boolean;
}

/**
 * Reads what an answer should be: `200 42` has that body, `200 /4./` one that matches, `200` any, `200 cut` one that broke
 * off; `500 task_threw` is that problem, `500 task_threw EPERM` one whose detail says so.
 */
export function parseExpectation(text: string): Expectation {
  const [, status, rest] = /^(\d{3})\b ?(.*)$/.exec(text) ?? [];
  if (status === undefined) throw new TypeError(`"${text}" does not say what is answered`);
  const [, code, detail] = /^([a-z]+_[a-z_]+)\b ?(.*)$/.exec(rest!) ?? [];
  const pattern = /^\/(.*)\/$/.exec(rest!);
  return {
    text,
    status: Number(status),
    code: code ?? null,
    cut: rest === "cut",
    matches: (given) => {
      if (code !== undefined) return given.includes(detail!);
      if (pattern) return new RegExp(pattern[1]!, "s").test(given);
      return rest === "" || rest === "cut" || given === rest;
    },
  };
}

/** Holds an answer against those that will do, and against what has to be true of every answer to a run. */
export function assertAnswer(answer: Answer, expected: readonly Expectation[]): void {
  const problem = problemOf(answer);
  if (problem) assertProblem(answer, answer.status, problem.code);
  const text = problem ? problem.detail : answer.text;
  const fits = expected.some((each) => {
    const same = each.status === answer.status && each.code === (problem?.code ?? null);
    return same && each.cut === !answer.complete && each.matches(text);
  });
  assert.ok(fits, `answered ${outcomeOf(answer)}: ${answer.text.slice(0, 1_000)}`);
  assertOwnHeaders(answer);
}

/** What the table shows of an answer. */
export function outcomeOf(answer: Answer): string {
  const what = problemOf(answer)?.code ?? answer.text.slice(0, 40).replaceAll(/\s+/g, " ");
  return `${answer.status} ${what}${answer.complete ? "" : " (cut)"}`;
}

/** Headers that only the service may say, and those that make a browser or a proxy act in its name. */
function assertOwnHeaders(answer: Answer): void {
  const names = answer.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  for (const once of ["caisson-run", "x-content-type-options", "content-security-policy", "referrer-policy"]) {
    assert.equal(names.filter((name) => name === once).length, 1, `${once} is said once`);
  }
  assert.match(answer.headers["content-security-policy"]!, /^sandbox\b/);
  assert.ok(names.filter((name) => name === "content-length" || name === "transfer-encoding").length <= 1);
  const foreign = names.filter((name) =>
    /^(?:set-cookie|x-accel-(?!buffering$)|x-sendfile|x-forwarded-|strict-transport|clear-site|access-control-allow-credentials)/.test(
      name,
    ),
  );
  assert.deepEqual(foreign, []);
  // The service's own, of a body that is not whole at its head: nginx must not gather it.
  assert.ok(["no", undefined].includes(answer.headers["x-accel-buffering"]));
}

function problemOf(answer: Answer): ProblemDocument | null {
  const isProblem = answer.headers["content-type"]?.startsWith("application/problem+json") ?? false;
  return isProblem ? (answer.json() as ProblemDocument) : null;
}
