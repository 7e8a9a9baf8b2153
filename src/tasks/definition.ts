import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import type { MemberFault, RequestFaults } from "../members.ts";
import { type Claims, permitsVerb, VERBS } from "../tokens/claims.ts";
import { MAX_DEPTH, MAX_UNIX_S } from "../tokens/format.ts";
import { payloadOf } from "../tokens/issue.ts";
import { type JudgedRequest, judgeTokenRequest } from "../tokens/judge-request.ts";
import type { Payload } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import type { TokenRequest } from "../tokens/token-request.ts";
import type { TaskMembers } from "./task-request.ts";
import { pinOf, type Task } from "./task.ts";

/** Where a task is. */
export interface TaskRef {
  readonly container: string;
  readonly name: string;
}

/** What is said of a task, with the code that it has then. */
export interface Given extends Omit<TaskMembers, "code"> {
  /** Its own, given or kept, or null where it is fetched. */
  readonly code: string | null;
  readonly sha256Of: string | null;
  /** Of what was said. */
  readonly faults: readonly MemberFault[];
}

/** What there is of a task before it is changed. */
export interface Before {
  /** The task, or null where there is none. */
  readonly newest: Task | null;
  /** The same, unless it has ended: of what has ended nothing is kept. */
  readonly kept: Task | null;
}

/** A task as it is to be: whole where there is no fault. */
export interface Definition extends RequestFaults {
  /** As a token. */
  readonly request: TokenRequest;
  readonly code: string | null;
  readonly public: boolean;
  /** In place of those that it has; null where nothing was said. */
  readonly secrets: Secrets | null;
}

/**
 * What a task becomes: what is said, what is kept for the rest, and whether all of that is no more than the token that asks
 * has. Who changes a task answers for the whole of it: it runs below the token of the last who did.
 */
export function definitionOf(place: TaskRef, given: Given, before: Before, by: Claims, nowMs: number): Definition {
  const { kept } = before;
  const ofCode = [...faultsOfCode(given, before)];
  const known = [...given.faults, ...ofCode];
  const isPublic = given.public ?? kept?.public ?? false;
  const { request, invalid, exceeding } = judgeMembers(place, given, kept, { by, nowMs, known });
  return {
    request,
    code: given.code,
    public: isPublic,
    secrets: given.secrets === undefined ? null : request.secrets,
    invalid: [...known, ...invalid],
    exceeding: [...faultsOfKeeping(isPublic, by), ...exceeding],
  };
}

/** The claims of the token that a task runs under: the same token as long as it is below the same others. */
export function taskPayload(
  { container, name }: TaskRef,
  { request }: Definition,
  kept: Task | null,
  by: Claims,
  nowMs: number,
): Payload {
  const above = by.admin ? null : by;
  const parents = above ? [above.jti, ...above.parents] : [];
  const jti = kept && isDeepStrictEqual(kept.caller.claims.parents, parents) ? kept.caller.claims.jti : randomUUID();
  return { ...payloadOf(request, { jti, above, nowMs }), task: `${container}/${name}` };
}

/** Those of containers are inherited, and cannot be given below another token. */
export function limitsToKeep({ limits }: Claims, by: Claims): object {
  return by.admin ? limits : { token: limits.token };
}

function* faultsOfCode({ code, url, sha256, faults }: Given, { newest, kept }: Before): Generator<MemberFault> {
  if (code !== null) {
    if (sha256 === undefined || faults.some(({ member }) => member === "sha256")) return;
    yield { member: "sha256", detail: "is of what a URL gives, and the task has code of its own" };
  } else if (url === undefined && (kept === null || kept.inline) && !hasNamedCode(faults)) {
    const detail = newest && !kept ? ENDED : "is missing; give code, or url";
    yield { member: "code", detail };
  }
}

const ENDED =
  "is missing: the task has ended, and nothing but its versions is kept; give all of it, or go back to a version";

function* faultsOfKeeping(isPublic: boolean, by: Claims): Generator<MemberFault> {
  if (isPublic && !permitsVerb(by, "run")) {
    yield { member: "public", detail: "needs a token that may run in the container itself" };
  }
  // One generation more than there can be.
  if (by.parents.length >= MAX_DEPTH) {
    yield { member: "", detail: "there are as many tokens above it as there can be, and a task would be one below" };
  }
}

/** Whether code was given, and is of no use. */
function hasNamedCode(faults: readonly MemberFault[]): boolean {
  return faults.some(({ member }) => member === "code" || member === "url");
}

/** As the members of a token, which say what is wrong with them. */
function judgeMembers(
  { container }: TaskRef,
  given: Given,
  kept: Task | null,
  { by, nowMs, known }: { by: Claims; nowMs: number; known: readonly MemberFault[] },
): JudgedRequest {
  const before = kept?.caller.claims;
  const { secrets, expiresIn } = given;
  const endless = isEndless(given, kept, by);
  const members = {
    containers: [container],
    can: ["run"],
    code: pinGiven(given, kept),
    params: given.params === undefined ? before?.params : given.params,
    secrets,
    limits: given.limits === undefined ? before && limitsToKeep(before, by) : (given.limits ?? undefined),
    net: given.net === undefined ? (before?.net ?? undefined) : (given.net ?? undefined),
    fresh: (given.fresh ?? before?.fresh) || undefined,
    expiresIn,
    exp: expiresIn === undefined && endless ? MAX_UNIX_S : expOf(given, before, by),
  };
  // All verbs: what the task may do is run, and who may have it do so is judged elsewhere.
  const above = by.admin ? null : { ...by, depth: MAX_DEPTH + 1, can: VERBS };
  const elsewhere = hasNamedCode(known) ? ["code"] : [];
  const judged = judgeTokenRequest(JSON.parse(JSON.stringify(members)), nowMs, above, elsewhere);
  return {
    request: endless ? { ...judged.request, exp: null } : judged.request,
    invalid: judged.invalid.map(inWordsOfTask),
    exceeding: judged.exceeding.map(inWordsOfTask),
  };
}

/** Nothing where it is not known. */
function pinGiven({ sha256Of, url, sha256 }: Given, kept: Task | null): object | undefined {
  if (sha256Of !== null && url === undefined) return { sha256: sha256Of };
  const ofKept = url === undefined && kept && !kept.inline ? pinOf(kept) : {};
  const pin = { ...ofKept, ...(url !== undefined && { url }), ...(sha256 !== undefined && { sha256 }) };
  return Object.keys(pin).length > 0 ? pin : undefined;
}

function isEndless({ exp, expiresIn }: Given, kept: Task | null, by: Claims): boolean {
  if (!by.admin || expiresIn !== undefined) return false;
  return exp === undefined ? (kept?.caller.claims.exp ?? null) === null : exp === null;
}

/** Unless something else is said, as before and no longer than the token that asks. */
function expOf({ exp, expiresIn }: Given, before: Claims | undefined, by: Claims): unknown {
  if (exp !== undefined || expiresIn !== undefined) return exp;
  return Math.min(before?.exp ?? MAX_UNIX_S, by.exp ?? MAX_UNIX_S);
}

/** Where the code is from stands in the task itself. */
function inWordsOfTask({ member, detail }: MemberFault): MemberFault {
  return { member: member.replace(/^code\./, ""), detail };
}
