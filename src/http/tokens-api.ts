import { Problem } from "../errors.ts";
import { parseJson } from "../source/json.ts";
import type { Claims } from "../tokens/claims.ts";
import { readBody } from "./read-body.ts";
import {
  type Api,
  type ApiDependencies,
  authenticate,
  type Call,
  forbidden,
  json,
  lastSegment,
  resource,
} from "./resources.ts";
import { decode } from "./target.ts";

const TOKEN_REQUEST_BYTES = 64 * 2 ** 10;

/** Issuing and revoking, for administrators. */
export function serveTokens(api: Api, dependencies: ApiDependencies): void {
  const { tokens, log, config } = dependencies;
  const administrator = async (call: Call): Promise<Claims> => {
    const claims = await authenticate(call, dependencies);
    if (!claims.admin) throw forbidden();
    return claims;
  };
  resource(api, "/api/tokens", {
    POST: async (call) => {
      const by = await administrator(call);
      const issued = await tokens.issue(await readJson(call, config.jsonDepthLimit), by.jti);
      log.audit("token issued", { token: issued.jti, by: by.jti });
      return json(201, issued);
    },
  });
  resource(api, "/api/tokens/:jti{[^/]*}", {
    DELETE: async (call) => {
      const by = await administrator(call);
      const jti = decode(lastSegment(call)) ?? "";
      tokens.revoke(jti, by.jti);
      log.audit("token revoked", { token: jti, by: by.jti });
      return json(200, { jti, revoked: true });
    },
  });
}

async function readJson(call: Call, maxDepth: number): Promise<unknown> {
  const body = await readBody(call.env.incoming, call.env.outgoing, TOKEN_REQUEST_BYTES, () => {
    return new Problem("request_invalid", `the body is longer than the ${TOKEN_REQUEST_BYTES} bytes that are taken`);
  });
  return parseJson(body, maxDepth);
}
