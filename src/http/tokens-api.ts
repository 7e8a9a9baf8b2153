import type { Claims } from "../tokens/claims.ts";
import { readJson } from "./read-json.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  forbidden,
  json,
  lastSegment,
  resource,
} from "./resources.ts";
import { decode } from "./target.ts";

/** Issuing and revoking, for administrators. */
export function serveTokens(api: Api, dependencies: ApiDependencies): void {
  const { tokens, config } = dependencies;
  const administrator = async (call: Call): Promise<Claims> => {
    const claims = await authenticate(call, dependencies);
    if (!claims.admin) throw forbidden();
    return claims;
  };
  resource(api, "/api/tokens", {
    POST: async (call) => {
      const by = await administrator(call);
      const issued = await tokens.issue(await readJson(call, config.jsonDepthLimit), by.jti);
      audit(call, dependencies, "token issued", { token: issued.jti, by: by.jti });
      return json(201, issued);
    },
  });
  resource(api, "/api/tokens/:jti{[^/]*}", {
    DELETE: async (call) => {
      const by = await administrator(call);
      const jti = decode(lastSegment(call)) ?? "";
      await tokens.revoke(jti, by.jti);
      audit(call, dependencies, "token revoked", { token: jti, by: by.jti });
      return json(200, { jti, revoked: true });
    },
  });
}
