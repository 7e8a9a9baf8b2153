import { z } from "zod";

import { destinationText, readDestination } from "../egress/host.ts";
import type { NetClaim } from "../egress/restrict-policy.ts";
import { descriptionMember, type Labels, labelsMember } from "../labels.ts";
import { WINDOW_NAMES } from "../limits/windows.ts";
import { type MemberFault, membersProblem, readSound, type RequestFaults } from "../members.ts";
import { nearest } from "../nearest.ts";
import type { PackagesClaim } from "../packages/policy.ts";
import { parseDuration } from "../units.ts";
import { attenuate, exceeds, isSubset } from "./attenuate.ts";
import type { Claims, Params, Pin, TokenLimits, Verb } from "./claims.ts";
import {
  containersMember,
  depthMember,
  netMember,
  packagesMember,
  paramsMember,
  pinMember,
  PINNED_VERBS,
  canMember,
  timeoutMember,
  tokenLimitsMember,
  unixSecondsMember,
} from "./members.ts";
import { secretsMember } from "./secrets/secrets-member.ts";
import type { Secrets } from "./secrets/vault.ts";
import { MAX_UNIX_S } from "./token-format.ts";
import type { TokenRequest } from "./token-request.ts";

/** A request as far as it can be read, and all its faults. */
export interface JudgedRequest extends RequestFaults {
  /** The valid members, with defaults and inherited members. It is complete if there is no fault. */
  readonly request: TokenRequest;
}

/** The subject in problems about the members of `POST /api/tokens`. */
export const TOKEN_REQUEST = "the request for a token";

/**
 * Reads the members of `POST /api/tokens`.
 *
 * @param above the token that calls, or null for an administrator
 * @param reported members whose fault is already reported: they get no second fault
 * @throws {Problem} `request_invalid` when the input is not an object.
 */
export function judgeTokenRequest(
  input: unknown,
  nowMs: number,
  above: Claims | null = null,
  reported: readonly string[] = [],
): JudgedRequest {
  const { data, faults, faulty: ownFaulty } = readSound(tokenRequest, input, unknownDetail);
  if (data === null) throw membersProblem(TOKEN_REQUEST, faults);
  const faulty = new Set([...ownFaulty, ...reported]);
  const { expiresIn: _, ...members } = data;
  const requested = { ...DEFAULTS, ...members, can: canOf(data, above), exp: expOf(data, nowMs, above) };
  const request = above === null ? requested : attenuate(above, requested);
  const combined = [
    ...faultsOfScope(data, faulty, above),
    ...faultsOfSecrets(data, faulty, above),
    ...faultsOfTime(data, faulty, nowMs, above),
    ...faultsOfFetching(request),
  ];
  const invalid = [...faults, ...combined.filter(({ member }) => !faulty.has(member))];
  return { request, invalid, exceeding: above === null ? [] : exceeds(above, requested) };
}

const DEFAULTS: Omit<TokenRequest, "can" | "exp"> = {
  admin: false,
  containers: [],
  nbf: null,
  limits: {},
  timeout: null,
  net: null,
  packages: null,
  code: null,
  params: {},
  secrets: {},
  secretsReadable: false,
  fresh: false,
  depth: 0,
  selfRevoke: true,
  labels: {},
  description: null,
};
const DEFAULT_LIFETIME_MS = 86_400_000;
const DEFAULT_CAN: readonly Verb[] = ["run", "limits"];
interface Members {
  admin?: true;
  containers?: string[];
  can?: Verb[];
  exp?: number | null;
  expiresIn?: string;
  nbf?: number;
  limits?: TokenLimits;
  timeout?: string;
  net?: Exclude<NetClaim, null>;
  packages?: Exclude<PackagesClaim, null>;
  code?: Pin;
  params?: Params;
  secrets?: Secrets;
  secretsReadable?: true;
  fresh?: true;
  depth?: number;
  selfRevoke?: boolean;
  labels?: Labels;
  description?: string;
}

const LIFETIME = "must be a duration such as 30s, 5m, 12h or 7d";

/** The body of `POST /api/tokens`. */
export const tokenRequest: z.ZodType<Members> = z.strictObject(
  {
    admin: z.exactOptional(z.literal(true, "must be true, or left out")),
    containers: z.exactOptional(containersMember),
    can: z.exactOptional(canMember),
    exp: z.exactOptional(unixSecondsMember.nullable()),
    expiresIn: z.exactOptional(z.string(LIFETIME).refine(isDuration, LIFETIME)),
    nbf: z.exactOptional(unixSecondsMember),
    limits: z.exactOptional(tokenLimitsMember),
    timeout: z.exactOptional(timeoutMember),
    net: z.exactOptional(netMember),
    packages: z.exactOptional(packagesMember),
    code: z.exactOptional(pinMember),
    params: z.exactOptional(paramsMember),
    secrets: z.exactOptional(secretsMember),
    secretsReadable: z.exactOptional(z.literal(true, "must be true, or left out")),
    fresh: z.exactOptional(z.literal(true, "must be true, or left out")),
    depth: z.exactOptional(depthMember),
    selfRevoke: z.exactOptional(z.boolean("must be true or false")),
    labels: z.exactOptional(labelsMember),
    description: z.exactOptional(descriptionMember),
  },
  {
    error: (issue) =>
      issue.code === "invalid_type" ? 'must be a JSON object such as {"containers": ["acme"]}' : undefined,
  },
);

const SET_BY_SERVICE = new Set(["jti", "iss", "aud", "iat", "parents"]);

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch {
    return false;
  }
}

function unknownDetail(member: string): string | null {
  if (SET_BY_SERVICE.has(member)) return "is set by the service; leave it out";
  if (member === "preset") return "is not a known member; only `caisson tokens issue --preset` has presets";
  const name = /^limits\.(\w{1,32})$/.exec(member)?.[1];
  if (name === undefined || nearest(name, ["container", "token"]) !== null) return null;
  // The most usual mistake: the windows belong one level lower.
  const window = nearest(name, WINDOW_NAMES);
  return window === null
    ? "is not a known member; limits has container and token, each with windows such as minute"
    : `belongs in limits.container.${window} or limits.token.${window}`;
}

/** Checks that the net claim permits the URL of the pin. Both may be inherited. */
function faultsOfFetching({ code, net }: TokenRequest): MemberFault[] {
  if (!code?.url) return [];
  const { hostname, port, protocol } = new URL(code.url);
  const origin = destinationText(readDestination(`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`)!);
  if (net === null || (net !== false && isSubset([origin], net))) return [];
  const detail = `does not include ${origin}, from where code.url is fetched; add it, or pin by sha256 alone`;
  return [{ member: "net", detail }];
}

// The checks below combine several members. They skip members with a fault of their own, which get no second fault.

function faultsOfScope(
  { admin, containers, can, code, depth }: Members,
  faulty: ReadonlySet<string>,
  above: Claims | null,
): MemberFault[] {
  const faults: MemberFault[] = [];
  if (!admin && !containers && !faulty.has("admin")) {
    faults.push({ member: "containers", detail: "is missing; name at least one container, or set admin: true" });
  }
  if (admin && containers) {
    faults.push({ member: "containers", detail: "contradicts admin: true; leave one of them out" });
  }
  if (admin && can) {
    faults.push({ member: "can", detail: "contradicts admin: true; leave one of them out" });
  }
  if (admin && code) {
    faults.push({ member: "code", detail: "contradicts admin: true; leave one of them out" });
  }
  if (admin && depth !== undefined) {
    faults.push({ member: "depth", detail: "contradicts admin: true; leave one of them out" });
  }
  if (!admin && !can && !faulty.has("can") && canOf({}, above).length === 0) {
    faults.push({
      member: "can",
      detail: `is missing; the calling token has neither ${DEFAULT_CAN.join(" nor ")}`,
    });
  }
  // An invalid pin counts too, because the caller meant to set one.
  if ((code || faulty.has("code")) && can?.some((verb) => !PINNED_VERBS.has(verb))) {
    faults.push({ member: "can", detail: `may only contain ${[...PINNED_VERBS].join(", ")} together with code` });
  }
  return faults;
}

/** Requires an explicit consent to secrets for unpinned code, which can read them. */
function faultsOfSecrets(
  { secrets, secretsReadable, code }: Members,
  faulty: ReadonlySet<string>,
  above: Claims | null,
): MemberFault[] {
  const readable = secretsReadable || above?.secretsReadable;
  if (!secrets || code || readable || faulty.has("code") || faulty.has("secretsReadable")) return [];
  return [{ member: "secrets", detail: SECRETS_NEED }];
}

const SECRETS_NEED = "requires code, which pins the code that receives them, or secretsReadable: true";

function faultsOfTime(
  request: Members,
  faulty: ReadonlySet<string>,
  nowMs: number,
  above: Claims | null,
): MemberFault[] {
  const { admin, exp, expiresIn, nbf } = request;
  if (exp !== undefined && expiresIn !== undefined) {
    return [{ member: "expiresIn", detail: "contradicts exp; leave one of them out" }];
  }
  if (faulty.has("exp") || faulty.has("expiresIn")) return [];
  const nowS = Math.floor(nowMs / 1_000);
  const end = expOf(request, nowMs, above);
  if (end === null) {
    if (admin || faulty.has("admin")) return [];
    return [{ member: "exp", detail: "may only be null for an administrative token; set a time" }];
  }
  if (expiresIn !== undefined && (parseDuration(expiresIn) === 0 || end > MAX_UNIX_S)) {
    return [{ member: "expiresIn", detail: "must be longer than 0, and end before the year 10000" }];
  }
  if (end <= nowS) return [{ member: "exp", detail: `is ${nowS - end} s in the past; the time is ${nowS} now` }];
  if (nbf !== undefined && nbf >= end) {
    return [{ member: "nbf", detail: `is ${nbf - end} s after the token's end at ${end}; set an earlier time` }];
  }
  return [];
}

/** Returns the requested end, by default no later than the end of the token above. */
function expOf({ exp, expiresIn }: Members, nowMs: number, above: Claims | null): number | null {
  if (exp !== undefined) return exp;
  const lifetimeMs = expiresIn === undefined ? DEFAULT_LIFETIME_MS : parseDuration(expiresIn);
  const end = Math.floor(nowMs / 1_000) + Math.ceil(lifetimeMs / 1_000);
  return expiresIn === undefined ? Math.min(end, above?.exp ?? end) : end;
}

function canOf({ can }: Members, above: Claims | null): readonly Verb[] {
  return can ?? DEFAULT_CAN.filter((verb) => above === null || above.can.includes(verb));
}
