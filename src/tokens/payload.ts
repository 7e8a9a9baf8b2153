import { z } from "zod";

import type { NetClaim } from "../egress/restrict-policy.ts";
import { descriptionMember, type Labels, labelsMember } from "../labels.ts";
import type { PackagesClaim } from "../packages/policy.ts";
import { type Claims, isJti, type Params, type Pin, type TokenLimits, VERBS, type Verb } from "./claims.ts";
import {
  canMember,
  containersMember,
  depthMember,
  netMember,
  packagesMember,
  paramsMember,
  pinMember,
  PINNED_VERBS,
  timeoutMember,
  tokenLimitsMember,
  unixSecondsMember,
} from "./members.ts";
import { AUDIENCE, ISSUER, MAX_DEPTH } from "./token-format.ts";

/** The claims set in the token (RFC 7519). Members with default values are left out. */
export interface Payload {
  readonly iss: string;
  readonly aud: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp?: number;
  readonly nbf?: number;
  readonly admin?: true;
  readonly containers?: readonly string[];
  readonly can?: readonly Verb[];
  readonly limits?: TokenLimits;
  readonly timeout?: string;
  readonly net?: Exclude<NetClaim, null>;
  readonly packages?: Exclude<PackagesClaim, null>;
  readonly code?: Pin;
  readonly params?: Params;
  readonly secretsReadable?: true;
  readonly fresh?: true;
  readonly depth?: number;
  readonly selfRevoke?: false;
  readonly labels?: Labels;
  readonly description?: string;
  readonly task?: string;
  readonly parents?: readonly string[];
}

/**
 * Reads a claims set. The signature was checked before, but the parser is as strict as if it was not. An unknown claim may be a
 * restriction of a newer version, so a token that contains one is rejected.
 *
 * @throws {z.ZodError} when this version does not write such claims.
 */
export function claimsOf(payload: unknown): Claims {
  const {
    jti,
    iat,
    exp = null,
    nbf = null,
    admin = false,
    containers,
    can,
    limits = {},
    timeout = null,
    net = null,
    packages = null,
    code = null,
    params = {},
    secretsReadable = false,
    fresh = false,
    depth = 0,
    selfRevoke = true,
    labels = {},
    description = null,
    task = null,
    parents,
  } = schema.parse(payload);
  return deepFreeze({
    jti,
    admin,
    containers: containers ?? ["*"],
    can: can ?? [...VERBS],
    exp,
    nbf,
    iat,
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
    task,
    parents: parents ?? [],
  });
}

const jti = z.string().refine(isJti);

const schema: z.ZodType<Payload> = z
  .strictObject({
    iss: z.literal(ISSUER),
    aud: z.literal(AUDIENCE),
    jti,
    iat: unixSecondsMember,
    exp: z.exactOptional(unixSecondsMember),
    nbf: z.exactOptional(unixSecondsMember),
    admin: z.exactOptional(z.literal(true)),
    containers: z.exactOptional(containersMember),
    can: z.exactOptional(canMember),
    limits: z.exactOptional(tokenLimitsMember),
    timeout: z.exactOptional(timeoutMember),
    net: z.exactOptional(netMember),
    packages: z.exactOptional(packagesMember),
    code: z.exactOptional(pinMember),
    params: z.exactOptional(paramsMember),
    secretsReadable: z.exactOptional(z.literal(true)),
    fresh: z.exactOptional(z.literal(true)),
    depth: z.exactOptional(depthMember),
    selfRevoke: z.exactOptional(z.literal(false)),
    labels: z.exactOptional(labelsMember),
    description: z.exactOptional(descriptionMember),
    task: z.exactOptional(z.string()),
    parents: z.exactOptional(z.array(jti).max(MAX_DEPTH)),
  })
  .refine(({ admin, containers, can, exp, code, depth, task, parents }) =>
    admin
      ? [containers, can, code, depth, task, parents].every((member) => member === undefined)
      : containers !== undefined && can !== undefined && (exp !== undefined || task !== undefined),
  )
  .refine(({ code, can }) => code === undefined || can?.every((verb) => PINNED_VERBS.has(verb)));

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === "object" && member !== null) deepFreeze(member);
  return Object.freeze(value);
}
