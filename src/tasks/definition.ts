import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { Problem } from "../errors.ts";
import type { MemberFault } from "../members.ts";
import { type Claims, permitsVerb, VERBS } from "../tokens/claims.ts";
import { MAX_DEPTH, MAX_UNIX_S } from "../tokens/format.ts";
import { payloadOf } from "../tokens/issue.ts";
import type { Payload } from "../tokens/payload.ts";
import { readTokenRequest, type TokenRequest } from "../tokens/request.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import { type TaskMembers, taskProblem } from "./request.ts";
import { pinOf, type Task } from "./task.ts";

/** What is said of a task, with the code that it has then. */
export interface Given extends Omit<TaskMembers, "code"> {
  /** Its own, given or kept, or null where it is fetched. */
  readonly code: string | null;
  readonly sha256Of: string | null;
}

/** A task as it is to be. */
export interface Definition {
  readonly container: string;
  readonly name: string;
  readonly payload: Payload;
  readonly code: string | null;
  readonly public: boolean;
  /** In place of those that it has; null where nothing was said. */
  readonly secrets: Secrets | null;
}

/**
 * What a task becomes: what is said, what is kept for the rest, and all of that no more than the token that asks has. Who
 * changes a task answers for the whole of it: it runs below the token of the last who did.
 *
 * @throws {Problem} `request_invalid`, `token_forbidden`
 */
export function definitionOf(
  { container, name }: { container: string; name: string },
  given: Given,
  kept: Task | null,
  by: Claims,
  nowMs: number,
): Definition {
  mustHaveCode(given, kept);
  const isPublic = given.public ?? kept?.public ?? false;
  if (isPublic && !permitsVerb(by, "run")) throw forbidden("make a task public in a container where it may not run");
  // One generation more than there can be.
  if (by.parents.length >= MAX_DEPTH) throw forbidden("keep a task: there are as many tokens above it as there can be");
  const request = readMembers(container, given, kept, by, nowMs);
  const above = by.admin ? null : by;
  const parents = above ? [above.jti, ...above.parents] : [];
  const jti = kept && isDeepStrictEqual(kept.claims.parents, parents) ? kept.claims.jti : randomUUID();
  const payload = { ...payloadOf(request, { jti, above, nowMs }), task: `${container}/${name}` };
  const secrets = given.secrets === undefined ? null : request.secrets;
  return { container, name, payload, code: given.code, public: isPublic, secrets };
}

function mustHaveCode({ code, url, sha256 }: Given, kept: Task | null): void {
  if (code !== null) {
    if (sha256 === undefined) return;
    throw taskProblem([{ member: "sha256", detail: "is of what a URL gives, and the task has code of its own" }]);
  }
  if (url !== undefined || (kept && !kept.inline)) return;
  throw taskProblem([{ member: "code", detail: "is missing; give code, or url" }]);
}

/** As the members of a token, which say what is wrong with them. */
function readMembers(container: string, given: Given, kept: Task | null, by: Claims, nowMs: number): TokenRequest {
  const before = kept?.claims;
  const endless = isEndless(given, kept, by);
  const { secrets, expiresIn } = given;
  const members = {
    containers: [container],
    can: ["run"],
    code: pinGiven(given, kept),
    params: given.params === undefined ? before?.params : given.params,
    secrets,
    limits: given.limits === undefined ? keptLimits(before, by) : (given.limits ?? undefined),
    net: given.net === undefined ? (before?.net ?? undefined) : (given.net ?? undefined),
    fresh: (given.fresh ?? before?.fresh) || undefined,
    expiresIn,
    ...(expiresIn === undefined && { exp: endless ? MAX_UNIX_S : expOf(given, before, by) }),
  };
  // All verbs: what the task may do is run, and who may have it do so is judged elsewhere.
  const above = by.admin ? null : { ...by, depth: MAX_DEPTH + 1, can: VERBS };
  try {
    const request = readTokenRequest(JSON.parse(JSON.stringify(members)), nowMs, above);
    return endless ? { ...request, exp: null } : request;
  } catch (error) {
    throw asTaskProblem(error);
  }
}

function pinGiven({ sha256Of, url, sha256 }: Given, kept: Task | null): object {
  if (sha256Of !== null) return { sha256: sha256Of };
  if (url !== undefined) return { url, sha256 };
  return { ...pinOf(kept!), ...(sha256 !== undefined && { sha256 }) };
}

/** Those of containers are inherited, and cannot be given below another token. */
function keptLimits(before: Claims | undefined, by: Claims): object | undefined {
  if (!before) return undefined;
  return by.admin ? before.limits : { token: before.limits.token };
}

function isEndless({ exp, expiresIn }: Given, kept: Task | null, by: Claims): boolean {
  if (!by.admin || expiresIn !== undefined) return false;
  return exp === undefined ? (kept?.claims.exp ?? null) === null : exp === null;
}

/** Unless something else is said, as before and no longer than the token that asks. */
function expOf({ exp }: Given, before: Claims | undefined, by: Claims): unknown {
  if (exp !== undefined) return exp;
  return Math.min(before?.exp ?? MAX_UNIX_S, by.exp ?? MAX_UNIX_S);
}

function asTaskProblem(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== "request_invalid" || !error.options.violations) return error;
  const faults = error.options.violations as readonly MemberFault[];
  return taskProblem(faults.map(({ member, detail }) => ({ member: member.replace(/^code\./, ""), detail })));
}

function forbidden(what: string): Problem {
  return new Problem("token_forbidden", `the token may not ${what}`);
}
