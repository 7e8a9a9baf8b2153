import { randomUUID } from "node:crypto";

import { CompactSign } from "jose";

import { Problem } from "../errors.ts";
import { type MemberFault, refuseFaults } from "../members.ts";
import type { Caller } from "./caller.ts";
import type { Claims } from "./claims.ts";
import { ALGORITHM, AUDIENCE, ISSUER, MAX_TOKEN_BYTES, SIGNATURE_CHARS, TYPE } from "./format.ts";
import { judgeTokenRequest, TOKEN_REQUEST } from "./judge-request.ts";
import type { KeyRing } from "./keys/key-ring.ts";
import { claimsOf, type Payload } from "./payload.ts";
import type { Vault } from "./secrets/vault.ts";
import { isRevokedOnRecord, type TokenStore } from "./store.ts";
import type { TokenRequest } from "./token-request.ts";

export interface IssueContext {
  keys: KeyRing;
  registry: TokenStore;
  vault: Vault;
  /** The `jti` of the administrative token that asks, or words for what does. */
  issuedBy: string;
  /** The token that asks, where it is not an administrator's: what it issues is below it, and no more than it. */
  above: Caller | null;
  /** Unix milliseconds. */
  nowMs: number;
  quotas: IssueQuotas;
}

/** What one family may have issued. Administrators have no quota. */
export interface IssueQuotas {
  /** Unexpired tokens. */
  readonly familyTokens: number;
  /** Counts one more in time. @throws {Problem} `token_limited`, `store_unavailable` */
  readonly admit: (by: Caller) => Promise<void>;
}

export interface Issued {
  /** The credential itself: for the one who asked, and nowhere else. */
  token: string;
  jti: string;
  claims: Claims;
}

/**
 * Issues a token (RFC 7519, signed after RFC 8037) with the members of `POST /api/tokens`.
 *
 * @throws {Problem} `request_invalid` with every fault at once, `token_forbidden` with everything that goes beyond the
 * token above, `token_limited` and `quota_exceeded` when its family has issued too many, `store_unavailable` when it cannot
 * be recorded.
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
  // Before the record: a token that finds no room for its secrets leaves nothing behind that counts.
  if (hasSecrets) await context.vault.set(claims, request.secrets);
  try {
    await record(payload, [kid, ...(context.above?.kids ?? [])], context);
    if (hasSecrets) await mustNotBeRevoked(claims, context);
  } catch (error) {
    if (hasSecrets) await context.vault.forget(claims);
    throw error;
  }
  return { token, jti: payload.jti, claims };
}

/**
 * Before anybody has the token: its limits must be known at its first use, and a token that is not listed cannot be told
 * apart from a forged one when it is asked about.
 */
async function record(payload: Payload, kids: readonly string[], context: IssueContext): Promise<void> {
  const { registry, issuedBy, nowMs, quotas } = context;
  await registry.record(payload, issuedBy, nowMs, [...new Set(kids)], quotas.familyTokens);
}

/** A token above it may have been revoked meanwhile: what was kept below that one is deleted, and so must its secrets be. */
async function mustNotBeRevoked(claims: Claims, { registry }: IssueContext): Promise<void> {
  if (!(await isRevokedOnRecord(claims, registry))) return;
  throw new Problem("token_invalid", "the token was revoked meanwhile, or one that it descends from");
}

/** What is signed, or kept for a named task. */
export function payloadOf(
  {
    admin,
    containers,
    can,
    exp,
    nbf,
    limits,
    net,
    code,
    params,
    secretsReadable,
    fresh,
    depth,
    selfRevoke,
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
    ...(net !== null && { net }),
    ...(code !== null && { code }),
    ...(Object.keys(params).length > 0 && { params }),
    ...(secretsReadable && { secretsReadable }),
    ...(fresh && { fresh }),
    ...(depth > 0 && { depth }),
    ...(!selfRevoke && { selfRevoke }),
    ...(above !== null && { parents: [above.jti, ...above.parents] }),
  };
}

/** As it is in compact form (RFC 7515, section 7.1): also of a request with other faults. */
function faultsOfLength(header: object, payload: Payload): MemberFault[] {
  const length = compactLength(header) + 1 + compactLength(payload) + 1 + SIGNATURE_CHARS;
  if (length <= MAX_TOKEN_BYTES) return [];
  const detail = `makes a token of ${length} bytes, where ${MAX_TOKEN_BYTES} are allowed; name fewer`;
  return [{ member: longest(payload), detail }];
}

function compactLength(part: object): number {
  return Buffer.from(JSON.stringify(part)).toString("base64url").length;
}

/** Of the members that can be that long. */
function longest({ containers, net, params }: Payload): string {
  const members = Object.entries({ containers, net, params });
  return members.reduce((most, each) => (lengthOf(each[1]) > lengthOf(most[1]) ? each : most))[0];
}

function lengthOf(member: unknown): number {
  return JSON.stringify(member ?? "").length;
}
