import { errorsPage } from "./errors-page.ts";
import { VERSION } from "./headers.ts";
import { type Api, type ApiDependencies, json, resource, text } from "./resources.ts";

/** What is asked for without a token. */
export function servePublic(api: Api, { tokens, trouble, isolation }: ApiDependencies): void {
  const health = (): Response => {
    const reason = trouble();
    const { rung, passedOver } = isolation;
    const why = passedOver === null ? {} : { insteadOf: passedOver };
    const body = { status: reason ?? "ok", isolation: rung, ...why, version: VERSION };
    return json(reason === null ? 200 : 503, body, reason === null ? [] : ["Caisson-Fault", "service"]);
  };
  resource(api, "/healthz", { GET: health });
  resource(api, "/readyz", { GET: health });
  resource(api, "/.well-known/jwks.json", { GET: () => json(200, tokens.keys.jwks()) });
  const page = errorsPage();
  resource(api, "/errors", { GET: () => text(200, page, "text/html; charset=utf-8") });
}
