import { isEmpty, readPolicy } from "../../policies/policy-request.ts";
import { NO_POLICY } from "../../policies/store.ts";
import type { Caller } from "../../tokens/caller.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import { containerName } from "../target.ts";
import { containerPage } from "./container-list.ts";
import { PAGE } from "./queries.ts";
import { readJson } from "./read-json.ts";
import { readQuery } from "./read-query.ts";
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
} from "./route.ts";

/** Serves the policies, for administrators, and the list of containers, for administrators and tokens that may issue. */
export function serveContainers(api: Api, dependencies: ApiDependencies): void {
  const { policies } = dependencies;
  resource(
    api,
    "/api/containers",
    {
      GET: async (call) => {
        const caller = await authenticate(call, dependencies);
        const { cursor: after = "", limit } = readQuery(call.env.incoming.url!, PAGE);
        if (!permitsVerb(caller.claims, "issue")) throw forbidden();
        return json(200, await containerPage(after, limit, caller, dependencies));
      },
    },
    { GET: PAGE },
  );

  const authorizeAdmin = async (call: Call): Promise<[string, Caller]> => {
    const caller = await authenticate(call, dependencies);
    const name = containerName(lastSegment(call));
    if (!caller.claims.admin) throw forbidden();
    return [name, caller];
  };
  resource(api, "/api/containers/:name{[^/]*}", {
    GET: async (call) => json(200, policies.get((await authorizeAdmin(call))[0]) ?? NO_POLICY),
    PUT: async (call) => {
      const [name, by] = await authorizeAdmin(call);
      const { jti } = by.claims;
      const policy = readPolicy(await readJson(call, dependencies, by));
      if (isEmpty(policy)) await policies.remove(name);
      else await policies.set(name, policy, jti);
      await audit(call, dependencies, "policy set", by, { container: name, policy });
      return json(200, policy);
    },
    DELETE: async (call) => {
      const [name, by] = await authorizeAdmin(call);
      await policies.remove(name);
      await audit(call, dependencies, "policy removed", by, { container: name });
      return json(200, NO_POLICY);
    },
  });
}
