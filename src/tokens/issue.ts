import { randomUUID } from "node:crypto";

import { CompactSign } from "jose";

import { Problem } from "../errors.ts";
import { type MemberFault, refuseFaults } from "../members.ts";
import type { Caller } from "./caller.ts";
import type { Claims } from "./claims.ts";
import { judgeTokenRequest, TOKEN_REQUEST } from "./judge-request.ts";
import type { KeyRing } from "./keys/key-ring.ts";
import { claimsOf, type Payload } from "./payload.ts";
import type { Vault } from "./secrets/vault.ts";
import { isRevokedOnRecord, type TokenStore } from "./store.ts";
import { ALGORITHM, AUDIENCE, ISSUER, MAX_TOKEN_BYTES, SIGNATURE_CHARS, TYPE } from "./token-format.ts";
import type { TokenRequest } from "./token-request.ts";

export interface IssueContext {
  keys: KeyRing;
  store: TokenStore;
  vault: Vault;
  /** The `jti` of the administrative token that calls, or a description of the caller. */
  issuedBy: string;
  /** The token that calls, unless it is an administrator's. The new token is below it and cannot exceed it. */
  above: Caller | null;
  /** Unix milliseconds. */
  nowMs: number;
  quotas: IssueQuotas;
}

/** The quotas of one family. Administrators have no quota. */
export interface IssueQuotas {
  /** The maximum number of unexpired tokens. */
  readonly familyTokens: number;
  /** Counts one write against the rate. @throws {Problem} `token_limited`, `store_unavailable` */
  readonly admit: (by: Caller) => Promise<void>;
}

export interface Issued {
  /** The credential itself. Only the caller receives it. */
  token: string;
  jti: string;
  claims: Claims;
}

/**
 * Issues a token (RFC 7519, signed after RFC 8037) with the members of `POST /api/tokens`.
 *
 * @throws {Problem} `request_invalid` with all faults at once, `token_forbidden` with everything that exceeds the token above,
 * `token_limited` and `quota_exceeded` when its family has issued too many, `store_unavailable` when it cannot be recorded.
 */
export async function issue(input: unknown, context: IssueContext): Promise<Issued> {
  const { nowMs } = context;
  const above = context.above?.claims ?? null;
  const { request, invalid, exceeding } = judgeTokenRequest(input, nowMs, above);
  const overriding = above ? await context.vault.overriding(above, request) : [];
  const tooLarge = await context.vault.faultsOfSize(above, request.secrets);
  const payload = payloadOf(request, { jti: randomUUID(), above, nowMs });
  const { kid, key } = context.keys.signing;
  const header = { alg: ALGORITHM, typ: TYPE, kid };
  const tooLong = faultsOfLength(header, payload);
  refuseFaults(TOKEN_REQUEST, {
    invalid: [...invalid, ...tooLarge, ...tooLong],
    exceeding: [...exceeding, ...overriding],
  });
  if (context.above) await context.quotas.admit(context.above);
  const token = await new CompactSign(Buffer.from(JSON.stringify(payload))).setProtectedHeader(header).sign(key);
  const claims = claimsOf(payload);
  const hasSecrets = Object.keys(request.secrets).length > 0;
  // Before the record, because a token without room for its secrets must not count against the quota.
  if (hasSecrets) await context.vault.set(claims, request.secrets);
  try {
    await record(payload, [kid, ...(context.above?.kids ?? [])], context);
    if (hasSecrets) await throwIfRevoked(claims, context);
  } catch (error) {
    if (hasSecrets) await context.vault.forget(claims);
    throw error;
  }
  return { token, jti: payload.jti, claims };
}

/**
 * Records the token before the caller receives it. Its limits must be known at its first use, and the service could not
 * distinguish an unlisted token from a forged one.
 */
async function record(payload: Payload, kids: readonly string[], context: IssueContext): Promise<void> {
  const { store, issuedBy, nowMs, quotas } = context;
  await store.record(payload, issuedBy, nowMs, [...new Set(kids)], quotas.familyTokens);
}

/** Checks the tokens above again: a revocation in the meantime deleted what was stored below, and must delete these secrets. */
async function throwIfRevoked(claims: Claims, { store }: IssueContext): Promise<void> {
  if (!(await isRevokedOnRecord(claims, store))) return;
  throw new Problem("token_invalid", "the token, or one that it descends from, was revoked in the meantime");
}

/** Returns the payload to sign, or to store for a named task. */
export function payloadOf(
  {
    admin,
    containers,
    can,
    exp,
    nbf,
    limits,
    timeout,
    net,
    packages,
    code,
    params,
    secretsReadable,
    fresh,
    depth,
    selfRevoke,
    labels,
    description,
  }: TokenRequest,
  { jti, above, nowMs }: { jti: string; above: Claims | null; nowMs: number },
): Payload {
  return {
    iss: ISSUER,
    aud: AUDIENCE,
    jti,
    iat: Math.floor(nowMs / 1_000),
    ...(exp !== null && { exp }),
    ...(nbf !== null && { nbf }),
    ...(admin ? { admin } : { containers, can }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(timeout !== null && { timeout }),
    ...(net !== null && { net }),
    ...(packages !== null && { packages }),
    ...(code !== null && { code }),
    ...(Object.keys(params).length > 0 && { params }),
    ...(secretsReadable && { secretsReadable }),
    ...(fresh && { fresh }),
    ...(depth > 0 && { depth }),
    ...(!selfRevoke && { selfRevoke }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(description !== null && { description }),
    ...(above !== null && { parents: [above.jti, ...above.parents] }),
  };
}

/** Computes the length in compact form (RFC 7515, section 7.1), even if the request has other faults. */
function faultsOfLength(header: object, payload: Payload): MemberFault[] {
  const length = compactLength(header) + 1 + compactLength(payload) + 1 + SIGNATURE_CHARS;
  if (length <= MAX_TOKEN_BYTES) return [];
  const detail = `results in a token of ${length} bytes, of ${MAX_TOKEN_BYTES} allowed; shorten it`;
  return [{ member: longestOf(payload), detail }];
}

function compactLength(part: object): number {
  return Buffer.from(JSON.stringify(part)).toString("base64url").length;
}

/** Returns the longest of the members without a small maximum. */
function longestOf({ containers, net, packages, params, labels, description }: Payload): string {
  const members = Object.entries({ containers, net, packages, params, labels, description });
  return members.reduce((longest, member) => (lengthOf(member[1]) > lengthOf(longest[1]) ? member : longest))[0];
}

function lengthOf(member: unknown): number {
  return JSON.stringify(member ?? "").length;
}
