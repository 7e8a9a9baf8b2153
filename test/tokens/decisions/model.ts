/**
 * The contract of tokens in its simplest form: a token is a record, a chain is a list of records, and every decision is computed
 * from them each time. Nothing here is imported from the service.
 */

/** The tolerance in seconds for both ends of a token's time. */
const LEEWAY_S = 5;
/** The maximum number of tokens above a token. */
const MAX_ABOVE = 4;

export const WINDOWS = ["second", "minute", "hour", "day", "week", "month"] as const;
export type ModelLimits = { readonly [Window in (typeof WINDOWS)[number]]?: number };

/** The members of a request. */
export interface ModelRequest {
  readonly admin?: true;
  readonly containers?: readonly string[];
  readonly can?: readonly string[];
  readonly exp?: number | null;
  readonly nbf?: number;
  readonly limits?: { readonly container?: ModelLimits; readonly token?: ModelLimits };
  readonly timeout?: string;
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
  readonly timeoutMs: number;
  readonly net: false | null | readonly string[];
  readonly code: object | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly fresh: boolean;
  readonly secretsReadable: boolean;
  readonly depth: number;
  /** The tokens above it, nearest first. */
  readonly above: readonly ModelToken[];
  /** The key that signed the token; null for the token of a task, which is not signed. */
  readonly kid: string | null;
}

/** The state that changes while tokens are in use. */
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

/** Returns why a token is rejected. If several causes apply, it is the first of the list above. */
export function refusalOf(token: ModelToken, state: ModelState): Cause {
  if (token.kid !== null && !state.keys.has(token.kid)) return "key unknown";
  if (token.above.some(({ kid }) => kid !== null && !state.keys.has(kid))) return "key above unknown";
  if (token.nbf !== null && state.nowS < token.nbf - LEEWAY_S) return "not yet valid";
  return endOnRecord(token, state);
}

/** Returns why a token on record is no longer valid. Its keys and its start are not considered. */
export function endOnRecord(token: ModelToken, state: ModelState): Cause {
  if (hasExpired(token, state)) return "expired";
  if (state.revoked.has(token.jti)) return "revoked";
  return token.above.some(({ jti }) => state.revoked.has(jti)) ? "revoked above" : null;
}

/** Returns the end of a task as the API reports it. */
export function taskEnd(token: ModelToken, state: ModelState): { expired: boolean; revoked: boolean } {
  const isRevoked = [token, ...token.above].some(({ jti }) => state.revoked.has(jti));
  return { expired: hasExpired(token, state), revoked: isRevoked || hasLostKey(token, state) };
}

/** Returns whether a revocation ends the runs of the token. */
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

/** Returns the topmost token. Quotas and memory count against it. */
export function topOf(token: ModelToken): ModelToken {
  return token.above.at(-1) ?? token;
}

/** Returns the limits of each count that a run of these tokens is charged to. The run is under the first token. */
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

/** Returns the tokens of a run and all tokens above them, each once. */
export function chainOf(tokens: readonly ModelToken[]): readonly ModelToken[] {
  return [...new Set(tokens.flatMap((token) => [token, ...token.above]))];
}

/** Returns the lowest limits; 0 if no limit is set. */
function smallest(sets: readonly (ModelLimits | undefined)[]): readonly number[] {
  return WINDOWS.map((window) => {
    const set = sets.flatMap((limits) => limits?.[window] ?? []);
    return set.length === 0 ? 0 : Math.min(...set);
  });
}

/** Returns whether two runs in one container may share a guest. `secrets` is the version that a run receives, or null. */
export function shareGuest(
  a: { token: ModelToken; secrets: string | null },
  b: { token: ModelToken; secrets: string | null },
): boolean {
  if (JSON.stringify(a.token.net) !== JSON.stringify(b.token.net)) return false;
  if (a.secrets !== b.secrets) return false;
  const isAlone = [a, b].some(({ token, secrets }) => token.code !== null || secrets !== null);
  return !isAlone || a.token === b.token;
}

/** Returns a requested token below another, and the members in which the request exceeds that one. */
export function below(
  above: ModelToken | null,
  request: ModelRequest,
  { jti, kid }: { jti: string; kid: string | null },
): { token: ModelToken; excess: string[] } {
  const { admin = false, containers = ["*"], can = [], exp = null, nbf = null, limits = {}, net = null } = request;
  const { code = null, params = {}, depth = 0 } = request;
  const own: ModelToken = {
    ...{ jti, kid, admin, containers, can, exp, nbf, limits, net, code, params, depth },
    timeoutMs: msOf(request),
    ...{ fresh: request.fresh ?? false, secretsReadable: request.secretsReadable ?? false, above: [] },
  };
  if (above === null) return { token: own, excess: [] };
  const container = above.limits.container;
  const token: ModelToken = {
    ...own,
    limits: { ...(container && { container }), ...(limits.token && { token: limits.token }) },
    timeoutMs: Math.min(own.timeoutMs, above.timeoutMs),
    net: net ?? above.net,
    code: code ?? above.code,
    params: { ...params, ...above.params },
    fresh: own.fresh || above.fresh,
    secretsReadable: own.secretsReadable || above.secretsReadable,
    above: [above, ...above.above],
  };
  return { token, excess: excess(above, request) };
}

function excess(above: ModelToken, request: ModelRequest): string[] {
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
  if (request.timeout !== undefined && msOf(request) > above.timeoutMs) members.push("timeout");
  if (!ENDPOINTS.every((place) => !reaches(net ?? above.net, place) || reaches(above.net, place))) members.push("net");
  for (const [name, value] of Object.entries(params)) {
    if (Object.hasOwn(above.params, name) && above.params[name] !== value) members.push(`params.${name}`);
  }
  return members;
}

/** The model uses only timeouts in milliseconds. */
function msOf({ timeout }: ModelRequest): number {
  return timeout === undefined ? Infinity : Number(timeout.replace("ms", ""));
}

/** Returns a task's token below the calling token, and the excess. A task only runs, one generation below, at any depth. */
export function taskBelow(
  by: ModelToken,
  container: string,
  { public: isPublic, ...members }: ModelRequest & { public?: boolean },
  jti: string,
): { token: ModelToken; excess: string[] } {
  const request = { ...members, containers: [container], can: ["run"], exp: members.exp ?? by.exp };
  if (by.admin) return below(null, request, { jti, kid: null });
  const permissive = { ...by, depth: Infinity, can: ["run"] };
  const { token, excess: more } = below(permissive, request, { jti, kid: null });
  if (isPublic && !by.can.includes("run")) more.push("public");
  if (by.above.length >= MAX_ABOVE) more.push("");
  return { token: { ...token, above: [by, ...by.above] }, excess: more };
}

/** Names that distinguish all patterns of the test: for each prefix, one name that no other pattern matches. */
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
