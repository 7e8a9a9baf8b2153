import type { KeyUsage } from "../limits/limiter.ts";
import { limitRecord } from "../limits/record.ts";
import { type Claims, permitsContainer, permitsVerb } from "../tokens/claims.ts";
import { holderOf } from "./holder.ts";
import { rateLimitHeaders } from "./ratelimit-headers.ts";
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
import { containerName, decode } from "./target.ts";
import { readUsage } from "./usage.ts";

/** What is left, and the administrators' way to set it back. */
export function serveLimits(api: Api, dependencies: ApiDependencies): void {
  const { limiter, tokens, log } = dependencies;
  const container = async (call: Call, administrate: boolean): Promise<[string, Claims]> => {
    const claims = await authenticate(call, dependencies);
    const name = containerName(lastSegment(call));
    const permitted = administrate ? claims.admin : permitsContainer(claims, name) && permitsVerb(claims, "limits");
    if (!permitted) throw forbidden();
    return [name, claims];
  };
  const answerContainer = async (name: string, claims: Claims): Promise<Response> => {
    const usage = await readUsage(limiter, name, holderOf(claims, tokens.registry));
    return record(usage[0]!, usage);
  };
  resource(api, "/api/limits/container/:name{[^/]*}", {
    GET: async (call) => answerContainer(...(await container(call, false))),
    DELETE: async (call) => {
      const [name, claims] = await container(call, true);
      await limiter.resetContainer(name);
      log.audit("limits reset", { container: name, by: claims.jti });
      return answerContainer(name, claims);
    },
  });

  const token = async (call: Call, administrate: boolean): Promise<[string, Claims]> => {
    const claims = await authenticate(call, dependencies);
    const jti = decode(lastSegment(call)) ?? "";
    const own = !administrate && jti === claims.jti && permitsVerb(claims, "limits");
    if (!claims.admin && !own) throw forbidden();
    return [jti, claims];
  };
  const answerToken = async (jti: string): Promise<Response> => {
    // One that nobody knows here is held by the server's own limits.
    const usage = await limiter.token(jti, tokens.registry.issued(jti)?.claims.limits.token);
    return record(usage, [usage]);
  };
  resource(api, "/api/limits/token/:jti{[^/]*}", {
    GET: async (call) => answerToken((await token(call, false))[0]),
    DELETE: async (call) => {
      const [jti, claims] = await token(call, true);
      await limiter.resetToken(jti);
      log.audit("limits reset", { token: jti, by: claims.jti });
      return answerToken(jti);
    },
  });
}

function record(usage: KeyUsage, all: readonly KeyUsage[]): Response {
  return json(200, limitRecord(usage), rateLimitHeaders(all));
}
