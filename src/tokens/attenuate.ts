import { isDeepStrictEqual } from "node:util";

import { destinationText, readDestination } from "../egress/host.ts";
import type { NetClaim } from "../egress/restrict-policy.ts";
import { type Limits, WINDOW_NAMES } from "../limits/windows.ts";
import type { MemberFault } from "../members.ts";
import { permitsNoMore } from "../packages/policy.ts";
import { parseDuration } from "../units.ts";
import { type Claims, permitsContainer } from "./claims.ts";
import type { TokenRequest } from "./token-request.ts";

/**
 * Restricts a request for a token to what the token above it permits. Missing members are inherited.
 *
 * Limits of containers are inherited unchanged and cannot be set, because a container has one count for all its tokens. Limits
 * of the token itself can be set freely, because each run also counts against every token above.
 */
export function attenuate(above: Claims, request: TokenRequest): TokenRequest {
  const { container } = above.limits;
  const { token } = request.limits;
  return {
    ...request,
    limits: { ...(container && { container }), ...(token && { token }) },
    timeout: request.timeout ?? above.timeout,
    net: request.net ?? above.net,
    packages: request.packages ?? above.packages,
    code: request.code ?? above.code,
    params: { ...request.params, ...above.params },
    secretsReadable: request.secretsReadable || above.secretsReadable,
    fresh: request.fresh || above.fresh,
    selfRevoke: request.selfRevoke && above.selfRevoke,
  };
}

/** Returns everything in which a request exceeds the token above it. */
export function exceeds(above: Claims, request: TokenRequest): MemberFault[] {
  return [...excessOf(above, request)];
}

function* excessOf(above: Claims, request: TokenRequest): Generator<MemberFault> {
  const { admin, containers, can, exp, limits, timeout, net, packages, code, params, depth } = request;
  if (above.depth === 0)
    yield {
      member: "depth",
      detail: "of the calling token is 0, so it cannot issue tokens",
      hint: 'The issuer of the calling token gives it a depth of generations: {"can": ["run", "issue"], "depth": 1}.',
    };
  else if (depth >= above.depth) {
    yield { member: "depth", detail: `is ${depth}; it may be at most ${above.depth - 1}` };
  }
  if (admin) yield { member: "admin", detail: "can only be granted by an administrator" };
  for (const [index, pattern] of containers.entries()) {
    if (!covers(above, pattern))
      yield { member: `containers.${index}`, detail: "is not permitted by the calling token" };
  }
  for (const [index, verb] of admin ? [] : can.entries()) {
    if (!above.can.includes(verb)) yield { member: `can.${index}`, detail: "is not permitted by the calling token" };
  }
  if (above.exp !== null && (exp === null || exp > above.exp)) {
    yield { member: "exp", detail: `is later than the exp of the calling token, which is ${above.exp}` };
  }
  if (limits.container && !isDeepStrictEqual(limits.container, above.limits.container)) {
    yield { member: "limits.container", detail: "is inherited unchanged; leave it out" };
  }
  if (timeout !== null && !isNoLonger(timeout, above.timeout)) {
    yield { member: "timeout", detail: `is longer than the timeout of the calling token, which is ${above.timeout}` };
  }
  if (!isSubset(net, above.net)) yield { member: "net", detail: "has hosts that the calling token may not reach" };
  const isWithin = packages === null ? true : permitsNoMore(packages, above.packages);
  if (isWithin === false) yield { member: "packages", detail: "has packages that the calling token may not import" };
  if (isWithin === null) {
    const detail = "has too many ranges of packages that have several ranges in the calling token";
    yield { member: "packages", detail, hint: "List ranges as the calling token does, or few of each package." };
  }
  if (above.code && code && !isDeepStrictEqual(code, above.code)) {
    yield { member: "code", detail: "is inherited unchanged; leave it out" };
  }
  for (const [name, value] of Object.entries(params)) {
    if (!Object.hasOwn(above.params, name) || isDeepStrictEqual(value, above.params[name])) continue;
    yield { member: `params.${name}`, detail: "is inherited unchanged; leave it out" };
  }
}

/** Returns whether the token permits every name that matches the pattern. */
function covers(above: Claims, pattern: string): boolean {
  if (!pattern.endsWith("*")) return permitsContainer(above, pattern);
  const prefix = pattern.slice(0, -1);
  return above.containers.some((permitted) => permitted.endsWith("*") && prefix.startsWith(permitted.slice(0, -1)));
}

/** Returns whether a net claim reaches only what the claim above reaches. */
export function isSubset(net: NetClaim, above: NetClaim): boolean {
  if (above === null || net === null || net === false) return true;
  // A host without a port stands for all its ports.
  return above !== false && net.every((text) => above.includes(text) || above.includes(hostOf(text)));
}

/** Returns the text of a destination without its port, which stands for all ports of the host. */
function hostOf(text: string): string {
  return destinationText({ host: readDestination(text)!.host, port: null });
}

/** Returns whether limits allow no more runs than others in any window. A window without a limit allows all runs. */
export function allowsNoMore(limits: Limits = {}, others: Limits = {}): boolean {
  return WINDOW_NAMES.every((window) => (limits[window] ?? Infinity) <= (others[window] ?? Infinity));
}

/** Returns whether a timeout lets runs take no longer than another. Null is not a timeout. */
export function isNoLonger(timeout: string | null, other: string | null): boolean {
  if (other === null) return true;
  return timeout !== null && parseDuration(timeout) <= parseDuration(other);
}
