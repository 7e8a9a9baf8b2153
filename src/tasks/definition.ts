import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import type { Labels } from "../labels.ts";
import type { MemberFault, RequestFaults } from "../members.ts";
import type { Ranges } from "../packages/names.ts";
import { type Claims, permitsVerb, VERBS } from "../tokens/claims.ts";
import { payloadOf } from "../tokens/issue.ts";
import { type JudgedRequest, judgeTokenRequest } from "../tokens/judge-request.ts";
import type { Payload } from "../tokens/payload.ts";
import type { Secrets } from "../tokens/secrets/vault.ts";
import { MAX_DEPTH, MAX_UNIX_S } from "../tokens/token-format.ts";
import type { TokenRequest } from "../tokens/token-request.ts";
import type { InputSchema } from "./input-schema.ts";
import type { TaskCode } from "./task-code.ts";
import type { TaskMembers } from "./task-request.ts";
import { type ErrorVisibility, pinOf, type Task } from "./task.ts";
import { faultOfToolName } from "./tool-name.ts";

/** The container and the name of a task. */
export interface TaskRef {
  readonly container: string;
  readonly name: string;
}

/** The requested change of a task, and the code that the task has after it. */
export interface TaskChange extends Omit<TaskMembers, "code" | "modules" | "typescript"> {
  /** The code in the request or in the task; null if the code is fetched. */
  readonly code: TaskCode | null;
  readonly sha256Of: string | null;
  /** The faults of the request. */
  readonly faults: readonly MemberFault[];
}

/** The state of a task before a change. */
export interface Before {
  /** The newest version, or null if there is none. */
  readonly newest: Task | null;
  /** The newest version, or null if it has ended: a change keeps nothing of an ended task. */
  readonly active: Task | null;
}

/** A task after a change. It is complete if there is no fault. */
export interface Definition extends RequestFaults {
  /** The request for the token of the task. */
  readonly request: TokenRequest;
  readonly code: TaskCode | null;
  readonly public: boolean;
  readonly errors: ErrorVisibility;
  readonly record: "input" | null;
  readonly tool: boolean;
  readonly input: InputSchema | null;
  /** The packages that the task names outside of its texts, or null. */
  readonly packages: Ranges | null;
  /** The packages whose versions move. */
  readonly update: readonly string[];
  readonly labels: Labels;
  readonly description: string | null;
  /** The new secrets; null if the request sets none. */
  readonly secrets: Secrets | null;
}

/**
 * Computes the task after a change from the request and the active task, and checks that the calling token permits all of it. The
 * caller is responsible for the whole task, because the task then runs below its token.
 */
export function definitionOf(ref: TaskRef, change: TaskChange, before: Before, by: Claims, nowMs: number): Definition {
  const { active } = before;
  const tool = change.tool ?? active?.tool ?? false;
  const reported = [...change.faults, ...faultsOfCode(change, before), ...faultsOfTool(ref, tool)];
  const isPublic = change.public ?? active?.public ?? false;
  const { request, invalid, exceeding } = judgeMembers(ref, change, active, { by, nowMs, reported });
  return {
    request,
    code: change.code,
    public: isPublic,
    errors: change.errors ?? active?.errors ?? "hidden",
    record: change.record === undefined ? (active?.record ?? null) : change.record,
    tool,
    input: change.input === undefined ? (active?.input ?? null) : change.input,
    packages: change.packages === undefined ? (active?.packages ?? null) : nonEmpty(change.packages),
    update: change.update ?? [],
    labels: change.labels === undefined ? (active?.labels ?? {}) : (change.labels ?? {}),
    description: change.description === undefined ? (active?.description ?? null) : change.description,
    secrets: change.secrets === undefined ? null : request.secrets,
    invalid: [...reported, ...invalid],
    exceeding: [...faultsOfStoring(isPublic, by), ...exceeding],
  };
}

/** Returns null for no packages, so that there is one form of it. */
export function nonEmpty(ranges: Ranges | null): Ranges | null {
  return ranges !== null && Object.keys(ranges).length > 0 ? ranges : null;
}

/** Returns the claims of the token that a task runs under. The `jti` stays as long as the tokens above are the same. */
export function taskPayload(
  { container, name }: TaskRef,
  { request }: Definition,
  active: Task | null,
  by: Claims,
  nowMs: number,
): Payload {
  const above = by.admin ? null : by;
  const parents = above ? [above.jti, ...above.parents] : [];
  const jti =
    active && isDeepStrictEqual(active.caller.claims.parents, parents) ? active.caller.claims.jti : randomUUID();
  return { ...payloadOf(request, { jti, above, nowMs }), task: `${container}/${name}` };
}

/** Returns the limits to request again. Limits of containers are inherited, and cannot be requested below another token. */
export function limitsToRequest({ limits }: Claims, by: Claims): object {
  return by.admin ? limits : { token: limits.token };
}

function* faultsOfCode({ code, url, sha256, faults }: TaskChange, { newest, active }: Before): Generator<MemberFault> {
  if (code !== null) {
    if (sha256 === undefined || faults.some(({ member }) => member === "sha256")) return;
    yield { member: "sha256", detail: "applies to code from a URL, and the task has its own code" };
  } else if (url === undefined && (active === null || active.inline) && !hasCodeFault(faults)) {
    const detail = newest && !active ? ENDED : "is missing; set code or url";
    yield { member: "code", detail };
  }
}

const ENDED =
  "is missing: the task has ended, and only its versions are stored; send all members, or roll back to a version";

function* faultsOfStoring(isPublic: boolean, by: Claims): Generator<MemberFault> {
  if (isPublic && !permitsVerb(by, "run")) {
    yield { member: "public", detail: "requires a token that may itself run in the container" };
  }
  // The task would be one generation more than allowed.
  if (by.parents.length >= MAX_DEPTH) {
    yield { member: "", detail: "the calling token is at the maximum depth, and a task would be one level below it" };
  }
}

function* faultsOfTool({ name }: TaskRef, tool: boolean): Generator<MemberFault> {
  const fault = tool ? faultOfToolName(name) : null;
  if (fault !== null) yield { member: "tool", detail: fault };
}

/** Returns whether the request names code that is invalid. */
function hasCodeFault(faults: readonly MemberFault[]): boolean {
  return faults.some(({ member }) => member === "code" || member === "url");
}

/** Checks the members of the task as members of a token. */
function judgeMembers(
  { container }: TaskRef,
  change: TaskChange,
  active: Task | null,
  { by, nowMs, reported }: { by: Claims; nowMs: number; reported: readonly MemberFault[] },
): JudgedRequest {
  const claims = active?.caller.claims;
  const { secrets, expiresIn } = change;
  const endless = isEndless(change, active, by);
  const members = {
    containers: [container],
    can: ["run"],
    code: requestedPin(change, active),
    params: change.params === undefined ? claims?.params : change.params,
    secrets,
    limits: change.limits === undefined ? claims && limitsToRequest(claims, by) : (change.limits ?? undefined),
    timeout: change.timeout === undefined ? (claims?.timeout ?? undefined) : (change.timeout ?? undefined),
    net: change.net === undefined ? (claims?.net ?? undefined) : (change.net ?? undefined),
    fresh: (change.fresh ?? claims?.fresh) || undefined,
    expiresIn,
    exp: expiresIn === undefined && endless ? MAX_UNIX_S : expOf(change, claims, by),
  };
  // All verbs: a task may only run, and the route checks which callers may create or run it.
  const above = by.admin ? null : { ...by, depth: MAX_DEPTH + 1, can: VERBS };
  const faulty = hasCodeFault(reported) ? ["code"] : [];
  const judged = judgeTokenRequest(JSON.parse(JSON.stringify(members)), nowMs, above, faulty);
  // An invalid member was not read, so the previous value was judged in its place.
  const isReported = (fault: MemberFault): boolean => reported.some(({ member }) => member === fault.member);
  return {
    request: endless ? { ...judged.request, exp: null } : judged.request,
    invalid: judged.invalid.map(withTaskMember),
    exceeding: judged.exceeding.map(withTaskMember).filter((fault) => !isReported(fault)),
  };
}

/** Returns the pin to request; undefined if it is unknown. */
function requestedPin({ sha256Of, url, sha256 }: TaskChange, active: Task | null): object | undefined {
  if (sha256Of !== null && url === undefined) return { sha256: sha256Of };
  const current = url === undefined && active && !active.inline ? pinOf(active) : {};
  const pin = { ...current, ...(url !== undefined && { url }), ...(sha256 !== undefined && { sha256 }) };
  return Object.keys(pin).length > 0 ? pin : undefined;
}

function isEndless({ exp, expiresIn }: TaskChange, active: Task | null, by: Claims): boolean {
  if (!by.admin || expiresIn !== undefined) return false;
  return exp === undefined ? (active?.caller.claims.exp ?? null) === null : exp === null;
}

/** Returns the requested end, by default the previous end, but no later than the end of the calling token. */
function expOf({ exp, expiresIn }: TaskChange, claims: Claims | undefined, by: Claims): unknown {
  if (exp !== undefined || expiresIn !== undefined) return exp;
  return Math.min(claims?.exp ?? MAX_UNIX_S, by.exp ?? MAX_UNIX_S);
}

/** Renames the members of a pin, which are members of the task itself. */
function withTaskMember({ member, detail }: MemberFault): MemberFault {
  return { member: member.replace(/^code\./, ""), detail };
}
