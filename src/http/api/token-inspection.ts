import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import { type Claims, permitsContainer } from "../../tokens/claims.ts";
import type { IssuedToken } from "../../tokens/store.ts";
import { AUDIENCE, ISSUER } from "../../tokens/token-format.ts";
import type { Tokens } from "../../tokens/token-service.ts";
import { requireVerb, tokenOutOfReach } from "../permissions.ts";
import { containerName } from "../target.ts";
import { jtiOf, noSuchToken } from "./jti.ts";
import { listPage } from "./list-page.ts";
import { TOKEN_PAGE } from "./queries.ts";
import { readBytes } from "./read-json.ts";
import { readQuery } from "./read-query.ts";
import {
  type Api,
  type ApiDependencies,
  authenticate,
  type Call,
  type Handler,
  json,
  jsonText,
  lastSegment,
  resource,
} from "./route.ts";

/** The most bytes of a form: a token and a few short members. */
const MAX_FORM_BYTES = 64 * 2 ** 10;
/** RFC 7662 has two members; others are ignored. */
const MAX_FORM_MEMBERS = 100;
const FORM_TYPE = "application/x-www-form-urlencoded";
const FORM_HINT = "Send the form token=<token>, as curl does with --data-urlencode.";
/** The tokens that a list reads in one turn of the event loop. A token takes up to 3 ms. */
const TOKENS_PER_TURN = 3;

/**
 * Handles `GET /api/tokens`, which lists tokens in pages: all tokens for administrators, the tokens below for tokens that may
 * issue.
 */
export function listTokens(dependencies: ApiDependencies): Handler {
  const { tokens } = dependencies;
  return async (call) => {
    const { claims: by, family } = await authenticate(call, dependencies);
    const query = readQuery(call.env.incoming.url!, TOKEN_PAGE);
    const container = query.container === undefined ? null : containerName(query.container);
    requireVerb(by, "issue", "listing tokens");
    const { store } = tokens;
    const page = await listPage<IssuedToken>("tokens", query.cursor ?? "", query.limit, {
      read: (cursor, most) => (by.admin ? store.list(cursor, most) : store.listBelow(by, cursor, most)),
      // Any tenant can request this list at any time, so its turns are the shortest.
      entriesPerTurn: by.admin ? TOKENS_PER_TURN : 1,
      holder: family,
      cursorOf: ({ claims: { jti } }) => jti,
      describe: (issued) => describe(issued, tokens),
      filter: ({ claims }) =>
        (container === null || permitsContainer(claims, container)) && (!query.label || query.label(claims.labels)),
    });
    return jsonText(200, page);
  };
}

/** Handles `GET /api/tokens/{jti}`: returns a token to administrators, to the token itself and to its ancestors. */
export function inspectToken(dependencies: ApiDependencies): Handler {
  const { tokens } = dependencies;
  return async (call) => {
    const { claims: by } = await authenticate(call, dependencies);
    const jti = jtiOf(lastSegment(call));
    const issued = await tokens.store.issued(jti);
    if (!by.admin && !(issued && isSelfOrDescendant(issued.claims, by))) {
      throw tokenOutOfReach("reading the claims", "itself and the tokens below it");
    }
    if (!issued) throw noSuchToken();
    return json(200, await describe(issued, tokens));
  };
}

/** Serves `POST /api/tokens/introspect` (RFC 7662). A token may introspect itself and its descendants. */
export function serveIntrospection(api: Api, dependencies: ApiDependencies): void {
  resource(api, "/api/tokens/introspect", {
    POST: async (call) => {
      const caller = await authenticate(call, dependencies);
      const { claims: by } = caller;
      const form = await readForm(call, dependencies, caller);
      const values = form.getAll("token");
      if (values.length !== 1) {
        throw new Problem("request_invalid", `the form has ${values.length} members named token; it must have one`, {
          hint: FORM_HINT,
        });
      }
      const claims = await validClaims(values[0]!, call.env.incoming, dependencies);
      // Invalid tokens and tokens that the caller may not see get the same answer (RFC 7662, section 2.2).
      if (!claims || (!by.admin && !isSelfOrDescendant(claims, by))) return json(200, { active: false });
      return json(200, introspection(claims));
    },
  });
}

/** Returns null if the token is not valid. Throws all other errors, because they are not about the token. */
async function validClaims(
  token: string,
  request: Parameters<ApiDependencies["authenticator"]["verify"]>[1],
  { authenticator }: ApiDependencies,
): Promise<Claims | null> {
  try {
    // The check counts for the client's address like any other check, because it costs the same.
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

function isSelfOrDescendant(claims: Claims, by: Claims): boolean {
  return claims.jti === by.jti || claims.parents.includes(by.jti);
}

/** Returns all facts about a token, but not the token itself. Its claims have Unix seconds, as RFC 7519 requires. */
async function describe({ claims, issuedBy, issuedAt }: IssuedToken, { store, uses }: Tokens): Promise<object> {
  const ends = await Promise.all([claims.jti, ...claims.parents].map(async (jti) => store.revocation(jti)));
  const at = ends.findIndex((end) => end !== undefined);
  const use = await uses.of(claims.jti);
  return {
    jti: claims.jti,
    issuedBy,
    issuedAt: dateTime(issuedAt),
    // The revocation of the token itself, otherwise of its nearest revoked ancestor.
    revoked: at < 0 ? null : { jti: [claims.jti, ...claims.parents][at], by: ends[at]!.by, at: dateTime(ends[at]!.at) },
    lastUsed: use ? dateTime(use.lastMs) : null,
    runs: use?.runs ?? 0,
    claims,
  };
}

/** Returns a time as the log and the records write it (RFC 3339). */
function dateTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** @throws {Problem} `request_invalid` if the body is not a form or is too long */
async function readForm(call: Call, dependencies: ApiDependencies, by: Caller): Promise<URLSearchParams> {
  const [type = ""] = (call.env.incoming.headers["content-type"] ?? "").split(";", 1);
  const tooLarge = (): Problem => {
    return new Problem("request_invalid", `the body is longer than the limit of ${MAX_FORM_BYTES} bytes`);
  };
  const text = await readBytes(call, dependencies, by, { limitBytes: MAX_FORM_BYTES, tooLarge }, String);
  if (type.trim().toLowerCase() !== FORM_TYPE)
    throw new Problem("request_invalid", `the body must be a form, ${FORM_TYPE}`, { hint: FORM_HINT });
  if (text.split("&", MAX_FORM_MEMBERS + 1).length > MAX_FORM_MEMBERS)
    throw new Problem("request_invalid", `the form has more than ${MAX_FORM_MEMBERS} members`);
  return new URLSearchParams(text);
}
