import { z } from "zod";

import type { NetClaim } from "../egress/narrow.ts";
import type { Problem } from "../errors.ts";
import { type MemberFault, membersProblem, schemaFaults, unknownMember } from "../members.ts";
import { parseDuration } from "../units.ts";
import type { Pin, TokenLimits, Verb } from "./claims.ts";
import { MAX_UNIX_S } from "./format.ts";
import {
  containersMember,
  netMember,
  pinMember,
  PINNED_VERBS,
  servedCanMember,
  tokenLimitsMember,
  unixSecondsMember,
} from "./members.ts";

/** What a token is to hold, checked, with the defaults filled in. */
export interface TokenRequest {
  readonly admin: boolean;
  readonly containers: readonly string[];
  readonly can: readonly Verb[];
  /** Unix seconds. */
  readonly exp: number | null;
  readonly nbf: number | null;
  readonly limits: TokenLimits;
  readonly net: NetClaim;
  readonly code: Pin | null;
  readonly fresh: boolean;
}

/**
 * Reads the members of `POST /api/tokens` as an administrator gives them.
 *
 * @throws {Problem} `request_invalid` with every fault at once.
 */
export function readTokenRequest(input: unknown, nowMs: number): TokenRequest {
  const parsed = schema.safeParse(input);
  const faults = parsed.success ? [] : schemaFaults(parsed.error, whyNot);
  faults.push(...faultsBetween(input, new Set(faults.map(({ member }) => member.split(".", 1)[0])), nowMs));
  if (!parsed.success || faults.length > 0) throw tokenRequestProblem(faults);
  const { admin = false, containers = [], can = ["run", "limits"], nbf = null, limits = {} } = parsed.data;
  const { net = null, code = null, fresh = false } = parsed.data;
  return { admin, containers, can, exp: expOf(parsed.data, nowMs), nbf, limits, net, code, fresh };
}

/** The answer to a request with these faults, which are at least one. */
export function tokenRequestProblem(faults: readonly MemberFault[]): Problem {
  return membersProblem("the request for a token", faults);
}

const DEFAULT_LIFETIME_MS = 86_400_000;
interface Members {
  admin?: true;
  containers?: string[];
  can?: Verb[];
  exp?: number | null;
  expiresIn?: string;
  nbf?: number;
  limits?: TokenLimits;
  net?: Exclude<NetClaim, null>;
  code?: Pin;
  fresh?: true;
}

const LIFETIME = "must be a duration such as 30s, 5m, 12h or 7d";

const schema: z.ZodType<Members> = z.strictObject(
  {
    admin: z.exactOptional(z.literal(true, "must be true, or left out")),
    containers: z.exactOptional(containersMember),
    can: z.exactOptional(servedCanMember),
    exp: z.exactOptional(unixSecondsMember.nullable()),
    expiresIn: z.exactOptional(z.string(LIFETIME).refine(isDuration, LIFETIME)),
    nbf: z.exactOptional(unixSecondsMember),
    limits: z.exactOptional(tokenLimitsMember),
    net: z.exactOptional(netMember),
    code: z.exactOptional(pinMember),
    fresh: z.exactOptional(z.literal(true, "must be true, or left out")),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object" : undefined) },
);

/** Claims that are promised and not there yet. To take one and not obey it would be worse than to refuse it. */
const PROMISED = new Set(["params", "secrets", "secretsReadable", "depth", "selfRevoke", "code.url"]);
const SET_BY_SERVICE = new Set(["jti", "iss", "aud", "iat", "parents"]);

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch {
    return false;
  }
}

function whyNot(member: string): string {
  if (PROMISED.has(member)) return "is not supported by this version; leave it out";
  if (SET_BY_SERVICE.has(member)) return "is set by the service; leave it out";
  return unknownMember();
}

/** How the members go together. Those with a fault of their own are left out: they get no second one. */
function faultsBetween(input: unknown, faulty: ReadonlySet<string | undefined>, nowMs: number): MemberFault[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  const sound = Object.entries(input).filter(([name]) => !faulty.has(name));
  const given: Members = Object.fromEntries(sound);
  const faults = [...faultsOfScope(given, faulty), ...faultsOfTime(given, faulty, nowMs)];
  return faults.filter(({ member }) => !faulty.has(member));
}

function faultsOfScope(
  { admin, containers, can, code }: Members,
  faulty: ReadonlySet<string | undefined>,
): MemberFault[] {
  const faults: MemberFault[] = [];
  if (!admin && !containers && !faulty.has("admin")) {
    faults.push({ member: "containers", detail: "is missing; name at least one container, or ask for admin: true" });
  }
  if (admin && containers) {
    faults.push({ member: "containers", detail: "narrows what admin: true opens; leave one of them out" });
  }
  if (admin && can) {
    faults.push({ member: "can", detail: "narrows what admin: true opens; leave one of them out" });
  }
  if (admin && code) {
    faults.push({ member: "code", detail: "narrows what admin: true opens; leave one of them out" });
  }
  if (code && can?.some((verb) => !PINNED_VERBS.has(verb))) {
    faults.push({ member: "can", detail: `may only be of ${[...PINNED_VERBS].join(", ")} beside code` });
  }
  return faults;
}

function faultsOfTime(given: Members, faulty: ReadonlySet<string | undefined>, nowMs: number): MemberFault[] {
  const { admin, exp, expiresIn, nbf } = given;
  if (exp !== undefined && expiresIn !== undefined) {
    return [{ member: "expiresIn", detail: "says the same as exp; give one of them" }];
  }
  if (faulty.has("exp") || faulty.has("expiresIn")) return [];
  const nowS = Math.floor(nowMs / 1_000);
  const end = expOf(given, nowMs);
  if (end === null) {
    if (admin || faulty.has("admin")) return [];
    return [{ member: "exp", detail: "may be null for an administrative token only; give a time" }];
  }
  if (expiresIn !== undefined && (parseDuration(expiresIn) === 0 || end > MAX_UNIX_S)) {
    return [{ member: "expiresIn", detail: "must be more than nothing, and end before the year 10000" }];
  }
  if (end <= nowS) return [{ member: "exp", detail: `lies ${nowS - end} s in the past; it is ${nowS} now` }];
  if (nbf !== undefined && nbf >= end) {
    return [{ member: "nbf", detail: `is ${nbf - end} s after the token's end at ${end}; give an earlier one` }];
  }
  return [];
}

function expOf({ exp, expiresIn }: Members, nowMs: number): number | null {
  if (exp !== undefined) return exp;
  const lifetimeMs = expiresIn === undefined ? DEFAULT_LIFETIME_MS : parseDuration(expiresIn);
  return Math.floor(nowMs / 1_000) + Math.ceil(lifetimeMs / 1_000);
}
