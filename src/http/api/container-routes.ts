import { Page } from "../../limits/page.ts";
import { useRecord } from "../../limits/record.ts";
import { isEmpty, readPolicy } from "../../policies/policy-request.ts";
import { NO_POLICY } from "../../policies/store.ts";
import type { Caller } from "../../tokens/caller.ts";
import { containerName } from "../target.ts";
import { pageQuery } from "./page-query.ts";
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
} from "./route.ts";

/** Serves the policies and the list of containers, for administrators. */
export function serveContainers(api: Api, dependencies: ApiDependencies): void {
  const { policies } = dependencies;
  resource(api, "/api/containers", {
    GET: async (call) => {
      const { claims } = await authenticate(call, dependencies);
      const { after, count } = pageQuery(call);
      if (!claims.admin) throw forbidden();
      return json(200, await list(after, count, dependencies));
    },
  });

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

/** Returns a page of the containers that have a policy, counted runs or a live guest. */
async function list(after: string, count: number, { policies, limiter, containers }: ApiDependencies): Promise<object> {
  // One entry more than requested shows whether a next page exists.
  const page = new Page(after, count + 1);
  for (const name of await limiter.containers(after, count + 1)) page.add(name);
  for (const name of policies.containers(after, count + 1)) page.add(name);
  for (const name of containers.names()) page.add(name);
  const names = page.names();
  const entries = names.slice(0, count).map(async (container) => ({
    container,
    policy: policies.get(container) ?? NO_POLICY,
    used: useRecord(await limiter.use(container)),
    ...containers.activity(container),
  }));
  return { containers: await Promise.all(entries), next: names.length > count ? names[count - 1]! : null };
}
