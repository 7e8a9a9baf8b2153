import { VERSION } from "../headers.ts";
import { errorsPage } from "./errors-page.ts";
import { type Api, type ApiDependencies, json, resource, text } from "./route.ts";

/** RFC 7517, section 8.5.2. */
const JWKS_TYPE = "application/jwk-set+json";
/**
 * Other services fetch the keys to check tokens. After a key is revoked here, they may accept its tokens for 60 s more.
 */
const JWKS_CACHE = "public, max-age=60";

/** Serves the paths that need no token. */
export function servePublic(api: Api, { tokens, trouble, isolation, runCounts, egressCounts }: ApiDependencies): void {
  const health = (): Response => {
    const reason = trouble();
    const { level, fallbackReason } = isolation;
    const fallback = fallbackReason === null ? {} : { insteadOf: fallbackReason };
    const { failedUnheard } = runCounts;
    const failures = failedUnheard === 0 ? {} : { failedUnheard };
    const { refused } = egressCounts;
    const denials = Object.keys(refused).length === 0 ? {} : { egressRefused: refused };
    const body = { status: reason ?? "ok", isolation: level, ...fallback, ...failures, ...denials, version: VERSION };
    return json(reason === null ? 200 : 503, body, reason === null ? [] : ["Caisson-Fault", "service"]);
  };
  resource(api, "/healthz", { GET: health });
  resource(api, "/readyz", { GET: health });
  resource(api, "/.well-known/jwks.json", {
    GET: () => text(200, JSON.stringify(tokens.keys.jwks()), JWKS_TYPE, JWKS_CACHE),
  });
  const page = errorsPage();
  resource(api, "/errors", { GET: () => text(200, page, "text/html; charset=utf-8") });
}
