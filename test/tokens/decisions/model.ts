/**
 * What the contract says of tokens, as plainly as it can be written: a token is a record, a chain is a list of records, and
 * every decision is computed anew from them. Nothing here is imported from the service.
 */

/** Both ends of a token's time are judged with so much leeway. */
const LEEWAY_S = 5;
/** A token has at most so many above it. */
const MAX_ABOVE = 4;

export const WINDOWS = ["second", "minute", "hour", "day", "week", "month"] as const;
export type ModelLimits = { readonly [Window in (typeof WINDOWS)[number]]?: number };

/** The members of a request, as they are sent. */
export interface ModelRequest {
  readonly admin?: true;
  readonly containers?: readonly string[];
  readonly can?: readonly string[];
  readonly exp?: number | null;
  readonly nbf?: number;
  readonly limits?: { readonly container?: ModelLimits; readonly token?: ModelLimits };
  readonly net?: false | readonly string[];
  readonly code?: { readonly sha256: string };
  readonly params?: Readonly<Record<string, unknown>>;
  readonly secretsReadable?: true;
  readonly fresh?: true;
  readonly depth?: number;
}

export interface ModelToken {
  readonly jti: string;
  readonly admin: boolean;
  readonly containers: readonly string[];
  readonly can: readonly string[];
  readonly exp: number | null;
  readonly nbf: number | null;
  readonly limits: { readonly container?: ModelLimits; readonly token?: ModelLimits };
  readonly net: false | null | readonly string[];
  readonly code: object | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly fresh: boolean;
  readonly secretsReadable: boolean;
  readonly depth: number;
  /** The tokens above it, nearest first. */
  readonly above: readonly ModelToken[];
  /** The key that signed it; null for that of a task, which nobody signs. */
  readonly kid: string | null;
}

/** What changes while tokens are used. */
export interface ModelState {
  readonly nowS: number;
  readonly revoked: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
}

export type Cause =
  | "key unknown"
  | "key above unknown"
  | "not yet valid"
  | "expired"
  | "revoked"
  | "revoked above"
  | null;

/** Why a token is refused: of several causes the first of this list. */
export function refusalOf(token: ModelToken, state: ModelState): Cause {
  if (token.kid !== null && !state.keys.has(token.kid)) return "key unknown";
  if (token.above.some(({ kid }) => kid !== null && !state.keys.has(kid))) return "key above unknown";
  if (token.nbf !== null && state.nowS < token.nbf - LEEWAY_S) return "not yet valid";
  return endOnRecord(token, state);
}

/** Why a token on record is not worth anything any more. Its keys are not asked, nor when it begins. */
export function endOnRecord(token: ModelToken, state: ModelState): Cause {
  if (hasExpired(token, state)) return "expired";
  if (state.revoked.has(token.jti)) return "revoked";
  return token.above.some(({ jti }) => state.revoked.has(jti)) ? "revoked above" : null;
}

/** What the API reports of a task. */
export function taskEnd(token: ModelToken, state: ModelState): { expired: boolean; revoked: boolean } {
  const isRevoked = [token, ...token.above].some(({ jti }) => state.revoked.has(jti));
  return { expired: hasExpired(token, state), revoked: isRevoked || hasLostKey(token, state) };
}

/** Whether a run of the token is ended, where revocation ends runs. */
export function isRunEnded(token: ModelToken, state: ModelState): boolean {
  return [token, ...token.above].some(({ jti }) => state.revoked.has(jti)) || hasLostKey(token, state);
}

function hasExpired({ exp }: ModelToken, { nowS }: ModelState): boolean {
  return exp !== null && nowS >= exp + LEEWAY_S;
}

function hasLostKey(token: ModelToken, { keys }: ModelState): boolean {
  return [token, ...token.above].some(({ kid }) => kid !== null && !keys.has(kid));
}

export function permits(token: ModelToken, container: string, verb: string): boolean {
  return token.admin || (token.can.includes(verb) && token.containers.some((pattern) => matches(pattern, container)));
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The topmost token: quotas and memory are counted by it. */
export function topOf(token: ModelToken): ModelToken {
  return token.above.at(-1) ?? token;
}

/** The limits of each count that a run of these tokens is charged to; the first is the one that it runs under. */
export function chargesOf(
  tokens: readonly ModelToken[],
  container: string,
  defaults: { container: ModelLimits; token: ModelLimits },
  policy: ModelLimits | undefined,
): Record<string, readonly number[]> {
  const claimed = tokens.map(({ limits }) => limits.container);
  const charges: Record<string, readonly number[]> = {
    [`c:${container}`]: smallest([defaults.container, policy, ...claimed]),
  };
  for (const { jti, limits } of chainOf(tokens)) charges[`t:${jti}`] = smallest([defaults.token, limits.token]);
  return charges;
}

/** The tokens of a run and all above them, each once. */
export function chainOf(tokens: readonly ModelToken[]): readonly ModelToken[] {
  return [...new Set(tokens.flatMap((token) => [token, ...token.above]))];
}

/** 0 where no limit is set. */
function smallest(sets: readonly (ModelLimits | undefined)[]): readonly number[] {
  return WINDOWS.map((window) => {
    const set = sets.flatMap((limits) => limits?.[window] ?? []);
    return set.length === 0 ? 0 : Math.min(...set);
  });
}

/** Whether two runs in one container may share a guest. `secrets` is which ones they are given, or null. */
export function shareGuest(
  a: { token: ModelToken; secrets: string | null },
  b: { token: ModelToken; secrets: string | null },
): boolean {
  if (JSON.stringify(a.token.net) !== JSON.stringify(b.token.net)) return false;
  if (a.secrets !== b.secrets) return false;
  const isAlone = [a, b].some(({ token, secrets }) => token.code !== null || secrets !== null);
  return !isAlone || a.token === b.token;
}

/** A token below another as it is asked for, with all that it asks for beyond that one. */
export function below(
  above: ModelToken | null,
  request: ModelRequest,
  { jti, kid }: { jti: string; kid: string | null },
): { token: ModelToken; beyond: string[] } {
  const { admin = false, containers = ["*"], can = [], exp = null, nbf = null, limits = {}, net = null } = request;
  const { code = null, params = {}, depth = 0 } = request;
  const own: ModelToken = {
    ...{ jti, kid, admin, containers, can, exp, nbf, limits, net, code, params, depth },
    ...{ fresh: request.fresh ?? false, secretsReadable: request.secretsReadable ?? false, above: [] },
  };
  if (above === null) return { token: own, beyond: [] };
  const container = above.limits.container;
  const token: ModelToken = {
    ...own,
    limits: { ...(container && { container }), ...(limits.token && { token: limits.token }) },
    net: net ?? above.net,
    code: code ?? above.code,
    params: { ...params, ...above.params },
    fresh: own.fresh || above.fresh,
    secretsReadable: own.secretsReadable || above.secretsReadable,
    above: [above, ...above.above],
  };
  return { token, beyond: beyond(above, request) };
}

function beyond(above: ModelToken, request: ModelRequest): string[] {
  const { containers = [], can = [], exp = null, limits = {}, net = null, params = {}, depth = 0 } = request;
  const members: string[] = [];
  if (depth >= above.depth) members.push("depth");
  for (const [at, pattern] of containers.entries()) {
    const isWithin = NAMES.every((name) => !matches(pattern, name) || above.containers.some((of) => matches(of, name)));
    if (!isWithin) members.push(`containers.${at}`);
  }
  for (const [at, verb] of can.entries()) if (!above.can.includes(verb)) members.push(`can.${at}`);
  if (above.exp !== null && (exp === null || exp > above.exp)) members.push("exp");
  const mine = limits.container && JSON.stringify(limits.container);
  if (mine !== undefined && mine !== JSON.stringify(above.limits.container)) members.push("limits.container");
  if (!ENDPOINTS.every((place) => !reaches(net ?? above.net, place) || reaches(above.net, place))) members.push("net");
  for (const [name, value] of Object.entries(params)) {
    if (Object.hasOwn(above.params, name) && above.params[name] !== value) members.push(`params.${name}`);
  }
  return members;
}

/** What a task asks for beyond the token that puts it: it only runs, one generation below it, whatever its depth. */
export function taskBelow(
  by: ModelToken,
  container: string,
  { public: isPublic, ...members }: ModelRequest & { public?: boolean },
  jti: string,
): { token: ModelToken; beyond: string[] } {
  const request = { ...members, containers: [container], can: ["run"], exp: members.exp ?? by.exp };
  if (by.admin) return below(null, request, { jti, kid: null });
  const permissive = { ...by, depth: Infinity, can: ["run"] };
  const { token, beyond: more } = below(permissive, request, { jti, kid: null });
  if (isPublic && !by.can.includes("run")) more.push("public");
  if (by.above.length >= MAX_ABOVE) more.push("");
  return { token: { ...token, above: [by, ...by.above] }, beyond: more };
}

/** Enough names to tell all patterns of the test apart: of each prefix one that no other pattern names. */
export const NAMES: readonly string[] = [
  "acme",
  "acme-",
  "acme-1",
  "acme-12",
  "b",
  "a",
  "acme~",
  "acme-~",
  "acme-1~",
  "a~",
  "b~",
  "~",
];
export const PATTERNS: readonly string[] = ["acme-1", "acme-12", "b", "acme-*", "acme-1*", "a*", "b*", "*"];
export const PLACES: readonly string[] = ["a.example", "a.example:443", "a.example:80", "b.example:80", "b.example"];
const ENDPOINTS = ["a.example", "b.example"].flatMap((host) => [80, 443, 9].map((port) => ({ host, port })));

function reaches(net: ModelToken["net"], { host, port }: { host: string; port: number }): boolean {
  if (net === null) return true;
  return net !== false && (net.includes(host) || net.includes(`${host}:${port}`));
}
