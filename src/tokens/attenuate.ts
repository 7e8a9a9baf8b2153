import { isDeepStrictEqual } from "node:util";

import { destinationText, readDestination } from "../egress/host.ts";
import type { NetClaim } from "../egress/narrow.ts";
import { type Limits, WINDOW_NAMES } from "../limits/windows.ts";
import type { MemberFault } from "../members.ts";
import { type Claims, permitsContainer } from "./claims.ts";
import type { TokenRequest } from "./token-request.ts";

/**
 * Makes a request for a token what the token above it permits: members that it leaves out are inherited.
 *
 * Limits of containers are inherited as they are, and cannot be given: a container has one count for all its tokens. Limits
 * of the token itself are free, since each run also counts against every token above.
 */
export function attenuate(above: Claims, request: TokenRequest): TokenRequest {
  const { container } = above.limits;
  const { token } = request.limits;
  return {
    ...request,
    limits: { ...(container && { container }), ...(token && { token }) },
    net: request.net ?? above.net,
    code: request.code ?? above.code,
    params: { ...request.params, ...above.params },
    secretsReadable: request.secretsReadable || above.secretsReadable,
    fresh: request.fresh || above.fresh,
    selfRevoke: request.selfRevoke && above.selfRevoke,
  };
}

/** Everything in which a request exceeds the token above it. */
export function exceeds(above: Claims, request: TokenRequest): MemberFault[] {
  return [...excessOf(above, request)];
}

function* excessOf(above: Claims, request: TokenRequest): Generator<MemberFault> {
  const { admin, containers, can, exp, limits, net, code, params, depth } = request;
  if (above.depth === 0) yield { member: "depth", detail: "of the token that asks is 0: it issues none below it" };
  else if (depth >= above.depth) {
    yield { member: "depth", detail: `is ${depth}, and may be ${above.depth - 1} at the most` };
  }
  if (admin) yield { member: "admin", detail: "is given by administrators only" };
  for (const [index, pattern] of containers.entries()) {
    if (!covers(above, pattern)) yield { member: `containers.${index}`, detail: "is not of the token that asks" };
  }
  for (const [index, verb] of admin ? [] : can.entries()) {
    if (!above.can.includes(verb)) yield { member: `can.${index}`, detail: "is not of the token that asks" };
  }
  if (above.exp !== null && (exp === null || exp > above.exp)) {
    yield { member: "exp", detail: `lies after that of the token that asks, which is ${above.exp}` };
  }
  if (limits.container && !isDeepStrictEqual(limits.container, above.limits.container)) {
    yield { member: "limits.container", detail: "is inherited as it is; leave it out" };
  }
  if (!isSubset(net, above.net)) yield { member: "net", detail: "has places that the token that asks may not reach" };
  if (above.code && code && !isDeepStrictEqual(code, above.code)) {
    yield { member: "code", detail: "is inherited as it is; leave it out" };
  }
  for (const [name, value] of Object.entries(params)) {
    if (!Object.hasOwn(above.params, name) || isDeepStrictEqual(value, above.params[name])) continue;
    yield { member: `params.${name}`, detail: "is inherited as it is; leave it out" };
  }
}

/** Whether every name that the pattern stands for is one of the token's. */
function covers(above: Claims, pattern: string): boolean {
  if (!pattern.endsWith("*")) return permitsContainer(above, pattern);
  const beginning = pattern.slice(0, -1);
  return above.containers.some((known) => known.endsWith("*") && beginning.startsWith(known.slice(0, -1)));
}

/** Whether a net claim reaches nothing that the claim above does not reach. */
export function isSubset(net: NetClaim, above: NetClaim): boolean {
  if (above === null || net === null || net === false) return true;
  // A host without a port is all its ports.
  return above !== false && net.every((place) => above.includes(place) || above.includes(hostOf(place)));
}

/** In the spelling of a place of all ports. */
function hostOf(place: string): string {
  return destinationText({ host: readDestination(place)!.host, port: null });
}

/** Whether limits allow no run in any window that others do not allow. A window without a limit allows all. */
export function allowsNoMore(limits: Limits = {}, others: Limits = {}): boolean {
  return WINDOW_NAMES.every((window) => (limits[window] ?? Infinity) <= (others[window] ?? Infinity));
}
