import { Problem } from "../../errors.ts";
import { readLimits, readPatch } from "../../policies/policy-request.ts";
import { NO_POLICY } from "../../policies/store.ts";
import type { Caller } from "../../tokens/caller.ts";
import { requireAdmin, requireVerb } from "../permissions.ts";
import { containerName } from "../target.ts";
import { serveContainerActions } from "./container-actions.ts";
import { containerPage } from "./container-list.ts";
import { viewOfPolicy } from "./container-view.ts";
import { LABELLED_PAGE } from "./queries.ts";
import { readJson } from "./read-json.ts";
import { readQuery } from "./read-query.ts";
import {
  type Api,
  type ApiDependencies,
  audit,
  authenticate,
  type Call,
  json,
  jsonText,
  lastSegment,
  resource,
} from "./route.ts";

/** The types of a merge patch (RFC 7396). `curl --data` names the third if the caller names none. */
const PATCH_TYPES = ["application/merge-patch+json", "application/json", "application/x-www-form-urlencoded"];

/** An example of a body. */
const LIMITS = '{"limits":{"minute":60}}';

/** Serves the policies, for administrators, and the list of containers, for administrators and tokens that may issue. */
export function serveContainers(api: Api, dependencies: ApiDependencies): void {
  const { policies } = dependencies;
  resource(
    api,
    "/api/containers",
    {
      GET: async (call) => {
        const caller = await authenticate(call, dependencies);
        const {
          cursor: after = "",
          limit: count,
          label: filter = null,
        } = readQuery(call.env.incoming.url!, LABELLED_PAGE);
        requireVerb(caller.claims, "issue", "listing containers");
        return jsonText(200, await containerPage({ after, count, filter }, caller, dependencies));
      },
    },
    { GET: LABELLED_PAGE },
  );

  const authorizeAdmin = async (call: Call): Promise<[string, Caller]> => {
    const caller = await authenticate(call, dependencies);
    const name = containerName(lastSegment(call));
    requireAdmin(caller.claims, "the policy of a container");
    return [name, caller];
  };
  resource(api, "/api/containers/:name{[^/]*}", {
    GET: async (call) => json(200, viewOfPolicy(policies.get((await authorizeAdmin(call))[0]) ?? NO_POLICY)),
    PUT: async (call) => {
      const [name, by] = await authorizeAdmin(call);
      const limits = readLimits(await readJson(call, dependencies, by, LIMITS));
      const { after } = await policies.change(name, (before) => Object.freeze({ ...before, limits }), by.claims.jti);
      await audit(call, dependencies, "policy set", by, { container: name, policy: { limits } });
      return json(200, viewOfPolicy(after));
    },
    PATCH: async (call) => {
      const [name, by] = await authorizeAdmin(call);
      requirePatchType(call);
      const patch = readPatch(await readJson(call, dependencies, by, LIMITS));
      const { before, after } = await policies.change(name, patch, by.claims.jti);
      const { limits, labels, description } = after;
      if (before !== after) {
        await audit(call, dependencies, "policy changed", by, {
          container: name,
          policy: { limits, labels, description },
        });
      }
      return json(200, viewOfPolicy(after));
    },
    DELETE: async (call) => {
      const [name, by] = await authorizeAdmin(call);
      // A removed policy must not let code run that an administrator has stopped.
      const change = await policies.change(name, ({ suspended }) => ({ ...NO_POLICY, suspended }), by.claims.jti);
      await audit(call, dependencies, "policy removed", by, { container: name });
      return json(200, viewOfPolicy(change.after));
    },
  });
  serveContainerActions(api, dependencies);
}

/** @throws {Problem} `request_invalid` for a patch of another form */
function requirePatchType(call: Call): void {
  const [type = ""] = (call.env.incoming.headers["content-type"] ?? "").split(";", 1);
  if (type === "" || PATCH_TYPES.includes(type.trim().toLowerCase())) return;
  throw new Problem("request_invalid", "the body of a PATCH must be a JSON merge patch (RFC 7396)", {
    hint: "Send it as application/merge-patch+json or application/json.",
  });
}
