import type { Caller } from "../../tokens/caller.ts";
import type { Claims } from "../../tokens/claims.ts";
import { requireVerb, tokenOutOfReach } from "../permissions.ts";
import { jtiOf } from "./jti.ts";
import { TOKEN_PAGE } from "./queries.ts";
import { readJson } from "./read-json.ts";
import { type Api, type ApiDependencies, audit, authenticate, json, lastSegment, resource } from "./route.ts";
import { serveSecrets } from "./secret-routes.ts";
import { inspectToken, listTokens, serveIntrospection } from "./token-inspection.ts";

const UNKNOWN_JTI: readonly string[] = [
  "Caisson-Hint",
  "No token with this jti is stored here. It is revoked nevertheless; compare it with GET /api/tokens.",
];

/** Serves issuing and revoking. Administrators may revoke all tokens, other tokens may revoke their descendants. */
export function serveTokens(api: Api, dependencies: ApiDependencies): void {
  const { tokens, config, issueRate } = dependencies;
  const quotas = { familyTokens: config.familyTokens, admit: (by: Caller) => issueRate.admit(by) };
  const mayRevoke = async (by: Claims, jti: string): Promise<boolean> => {
    if (jti === by.jti) return by.selfRevoke;
    return by.admin || ((await tokens.store.issued(jti))?.claims.parents.includes(by.jti) ?? false);
  };
  // Must be added before `/api/tokens/:jti`, which would read `introspect` as a jti.
  serveIntrospection(api, dependencies);
  serveSecrets(api, dependencies);
  resource(
    api,
    "/api/tokens",
    {
      GET: listTokens(dependencies),
      POST: async (call) => {
        const by = await authenticate(call, dependencies);
        requireVerb(by.claims, "issue", "issuing a token");
        await issueRate.look(by);
        const issued = await tokens.issue(
          await readJson(call, dependencies, by, '{"containers":["acme"]}'),
          by,
          quotas,
        );
        await audit(call, dependencies, "token issued", by, { token: issued.jti });
        return json(201, issued);
      },
    },
    { GET: TOKEN_PAGE },
  );
  resource(api, "/api/tokens/:jti{[^/]*}", {
    GET: inspectToken(dependencies),
    DELETE: async (call) => {
      const caller = await authenticate(call, dependencies);
      const { claims: by } = caller;
      const jti = jtiOf(lastSegment(call));
      if (!(await mayRevoke(by, jti))) {
        throw tokenOutOfReach(
          "revoking the token",
          by.selfRevoke ? "itself and the tokens below it" : "the tokens below it",
        );
      }
      // A token that another node signed may not be stored here. Its own `exp` limits the life of its revocation.
      const first = await tokens.revoke(jti, by.jti, jti === by.jti ? by.exp : null);
      // Revocations have no rate limit, and all ancestors can repeat them. Repetitions must not add lines to the log.
      if (first) await audit(call, dependencies, "token revoked", caller, { token: jti });
      // A token that another node signed may not be stored here, so an unknown jti is not an error.
      const isKnown = jti === by.jti || (await tokens.store.issued(jti)) !== undefined;
      return json(200, { jti, revoked: true }, isKnown ? [] : UNKNOWN_JTI);
    },
  });
}
