import { clientSite } from "../../client-site.ts";
import { nextTurn } from "../../next-turn.ts";
import { clientNetwork } from "../address.ts";
import { healthOf } from "../health.ts";
import { openApiJson } from "../openapi/load-document.ts";
import { errorsPage } from "./errors-page.ts";
import { llmsText } from "./llms-text.ts";
import { type Api, type ApiDependencies, json, resource, sendShared, text } from "./route.ts";

/** RFC 7517, section 8.5.2. */
const JWKS_TYPE = "application/jwk-set+json";
/**
 * Other services fetch the keys to check tokens. After a key is revoked here, they may accept its tokens for 60 s more.
 */
const OPENAPI_CACHE = "public, max-age=60";
const JWKS_CACHE = "public, max-age=60";

/** Serves the paths that need no token. */
export function servePublic(api: Api, dependencies: ApiDependencies): void {
  const { tokens, proxies } = dependencies;
  const health = (): Response => {
    const { status, body, headers } = healthOf(dependencies);
    return json(status, body, headers);
  };
  resource(api, "/healthz", { GET: health });
  resource(api, "/readyz", { GET: health });
  resource(api, "/.well-known/jwks.json", {
    GET: () => text(200, JSON.stringify(tokens.keys.jwks()), JWKS_TYPE, ["Cache-Control", JWKS_CACHE]),
  });
  resource(api, "/openapi.json", {
    GET: async (call) => {
      const document = await openApiJson();
      // It is large, and anyone can ask for it on many connections at once.
      await nextTurn(clientSite(clientNetwork(proxies.clientOf(call.env.incoming))));
      return sendShared(call, document, "application/json", ["Cache-Control", OPENAPI_CACHE]);
    },
  });
  const forModels = llmsText();
  resource(api, "/llms.txt", { GET: () => text(200, forModels, "text/plain; charset=utf-8") });
  const page = errorsPage();
  resource(api, "/errors", { GET: () => text(200, page, "text/html; charset=utf-8") });
}
