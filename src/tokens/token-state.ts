import { Problem } from "../errors.ts";
import type { Claims } from "./claims.ts";
import { LEEWAY_S } from "./token-format.ts";

/** The state of a token: valid, or why not. If several reasons apply, it is the first of this list after "valid". */
export type TokenState =
  | "valid"
  | "key-unknown"
  | "ancestor-key-unknown"
  | "not-yet-valid"
  | "expired"
  | "revoked"
  | "ancestor-revoked";

/** The times of a token that a check considers: both, only its end, or neither. */
export type Times = "both" | "end" | "none";

/** The hint of every rejection that only another token resolves. */
const ASK_HERE = "Ask an administrator of this service for a new one.";

/** @param nowMs Unix milliseconds */
export function hasExpired({ exp }: Claims, nowMs: number): boolean {
  return exp !== null && nowMs >= (exp + LEEWAY_S) * 1_000;
}

/** @param nowMs Unix milliseconds */
export function isNotYetValid({ nbf }: Claims, nowMs: number): boolean {
  return nbf !== null && nowMs < (nbf - LEEWAY_S) * 1_000;
}

/** Returns the problem for a token in that state. It never contains the token. @param nowMs Unix milliseconds */
export function stateProblem(state: Exclude<TokenState, "valid">, claims: Claims, nowMs: number): Problem {
  return PROBLEMS[state](claims, nowMs);
}

const PROBLEMS: Readonly<Record<Exclude<TokenState, "valid">, (claims: Claims, nowMs: number) => Problem>> = {
  "key-unknown": keyUnknown,
  "ancestor-key-unknown": () =>
    tokenInvalid("a token that this one descends from is signed with a key that this service does not hold"),
  "not-yet-valid": ({ nbf }, nowMs) =>
    tokenInvalid(`the token becomes valid in ${Math.ceil(nbf! - nowMs / 1_000)} s`, "Wait until then."),
  expired: ({ exp }, nowMs) => tokenInvalid(`the token expired ${Math.floor(nowMs / 1_000 - exp!)} s ago`),
  revoked: () => tokenInvalid("the token was revoked"),
  "ancestor-revoked": () => tokenInvalid("a token that this one descends from was revoked"),
};

export function keyUnknown(): Problem {
  return tokenInvalid("the token is signed with a key that this service does not hold");
}

export function tokenInvalid(detail: string, hint: string = ASK_HERE, cause?: unknown): Problem {
  return new Problem("token_invalid", detail, { hint, cause });
}
