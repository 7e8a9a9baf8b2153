import { Problem } from "../../errors.ts";
import { type Claims, permitsContainer } from "../../tokens/claims.ts";
import { AUDIENCE, ISSUER } from "../../tokens/format.ts";
import type { IssuedToken } from "../../tokens/store.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import { containerName, decode } from "../target.ts";
import { listPage } from "./list-page.ts";
import { pageQuery } from "./page-query.ts";
import { readForm } from "./read-form.ts";
import {
  type Api,
  type ApiDependencies,
  authenticate,
  forbidden,
  type Handler,
  json,
  jsonText,
  lastSegment,
  resource,
} from "./route.ts";

/** A token takes up to three milliseconds to be read. */
const SCANNED = 3;

/** `GET /api/tokens`: what was issued, in pages, for administrators. */
export function listTokens(dependencies: ApiDependencies): Handler {
  const { tokens } = dependencies;
  return async (call) => {
    const { claims, family } = await authenticate(call, dependencies);
    const { after, count, query } = pageQuery(call, ["container"]);
    const given = query.get("container");
    const container = given === null ? null : containerName(given);
    if (!claims.admin) throw forbidden();
    const page = await listPage<IssuedToken>("tokens", after, count, {
      read: (cursor, some) => tokens.store.list(cursor, some),
      atOnce: SCANNED,
      holder: family,
      cursorOf: ({ claims: { jti } }) => jti,
      describe: (issued) => described(issued, tokens),
      wanted: (issued) => container === null || permitsContainer(issued.claims, container),
    });
    return jsonText(200, page);
  };
}

/** `GET /api/tokens/{jti}`: one of them, for administrators, for itself and for those above it. */
export function inspectToken(dependencies: ApiDependencies): Handler {
  const { tokens } = dependencies;
  return async (call) => {
    const { claims: by } = await authenticate(call, dependencies);
    const jti = decode(lastSegment(call)) ?? "";
    const issued = await tokens.store.issued(jti);
    if (!by.admin && !(issued && isOfChain(issued.claims, by))) throw forbidden();
    if (!issued) throw new Problem("not_found", "no token of that jti is known here; it may have ended long ago");
    return json(200, await described(issued, tokens));
  };
}

/** `POST /api/tokens/introspect` (RFC 7662), for what is the token that asks, or below it. */
export function serveIntrospection(api: Api, dependencies: ApiDependencies): void {
  resource(api, "/api/tokens/introspect", {
    POST: async (call) => {
      const caller = await authenticate(call, dependencies);
      const { claims: by } = caller;
      const form = await readForm(call, dependencies, caller);
      const given = form.getAll("token");
      if (given.length !== 1) {
        throw new Problem("request_invalid", `the form has ${given.length} members named token, and must have one`);
      }
      const claims = await validClaims(given[0]!, call.env.incoming, dependencies);
      // One answer for all that is not theirs to know (section 2.2).
      if (!claims || (!by.admin && !isOfChain(claims, by))) return json(200, { active: false });
      return json(200, introspection(claims));
    },
  });
}

/** `null` when it is not valid. What else goes wrong is thrown: it says nothing about the token. */
async function validClaims(
  token: string,
  request: Parameters<ApiDependencies["authenticator"]["verify"]>[1],
  { authenticator }: ApiDependencies,
): Promise<Claims | null> {
  try {
    // Counted for the address like any other check: it costs the same.
    return (await authenticator.verify(token, request)).claims;
  } catch (error) {
    if (error instanceof Problem && error.code === "token_invalid") return null;
    throw error;
  }
}

function introspection({ jti, exp, nbf, iat, ...claims }: Claims): object {
  const times = { ...(exp !== null && { exp }), ...(nbf !== null && { nbf }), iat };
  const scope = claims.can.join(" ");
  return { active: true, token_type: "Bearer", scope, jti, iss: ISSUER, aud: AUDIENCE, ...times, ...claims };
}

function isOfChain(claims: Claims, by: Claims): boolean {
  return claims.jti === by.jti || claims.parents.includes(by.jti);
}

/** What there is to know of a token. Nothing in it is the token. Times are in Unix seconds. */
async function described(
  { claims, issuedBy, issuedAt }: IssuedToken,
  { store: registry, uses }: Tokens,
): Promise<object> {
  const ends = await Promise.all([claims.jti, ...claims.parents].map(async (jti) => registry.revocation(jti)));
  const at = ends.findIndex((end) => end !== undefined);
  const use = await uses.of(claims.jti);
  return {
    jti: claims.jti,
    issuedBy,
    issuedAt: seconds(issuedAt),
    // Its own, or that of the nearest above it.
    revoked: at < 0 ? null : { jti: [claims.jti, ...claims.parents][at], by: ends[at]!.by, at: seconds(ends[at]!.at) },
    lastUsed: use ? seconds(use.lastMs) : null,
    runs: use?.runs ?? 0,
    claims,
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
