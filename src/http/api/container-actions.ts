import { Problem } from "../../errors.ts";
import type { PolicyChange } from "../../policies/store.ts";
import { resume, suspend } from "../../policies/suspend.ts";
import type { AuditAction } from "../../records/audit/audit.ts";
import type { Caller } from "../../tokens/caller.ts";
import { requireAdmin, requireContainer, requireVerb } from "../permissions.ts";
import { hasBody } from "../read-body.ts";
import { containerName } from "../target.ts";
import { viewOfPolicy } from "./container-view.ts";
import { NOW } from "./queries.ts";
import { readJson } from "./read-json.ts";
import { readQuery } from "./read-query.ts";
import { type Api, type ApiDependencies, audit, authenticate, type Call, json, resource, segment } from "./route.ts";

/** The index of the name in `/api/containers/{container}/suspend`. */
const CONTAINER = 3;
const PATH = "/api/containers/:name{[^/]*}";

/**
 * Serves the suspension of containers, for administrators, and their restart, for administrators and for tokens that may
 * change the tasks of the container.
 */
export function serveContainerActions(api: Api, dependencies: ApiDependencies): void {
  const { policies, restarts, issueRate } = dependencies;
  const refuseBody = async (call: Call, by: Caller): Promise<void> => {
    if (!hasBody(call.env.incoming)) return;
    const body = await readJson(call, dependencies, by, "{}, or no body");
    if (typeof body === "object" && body !== null && Object.keys(body).length === 0) return;
    throw new Problem("request_invalid", "the request has a body, which this path does not read", {
      hint: "Leave the body out. Options belong in the query: ?now=true.",
    });
  };
  const read = async (call: Call, permit: (by: Caller, name: string) => void): Promise<[string, Caller]> => {
    const by = await authenticate(call, dependencies);
    const name = containerName(segment(call, CONTAINER));
    permit(by, name);
    await refuseBody(call, by);
    return [name, by];
  };
  const change = async (call: Call, what: AuditAction, changeOf: (by: Caller) => PolicyChange): Promise<Response> => {
    const [name, by] = await read(call, mayStop);
    const hint = await unknownContainer(name, dependencies);
    const { before, after } = await policies.change(name, changeOf(by), by.claims.jti);
    if (before !== after) {
      const details = after.suspended ? { container: name, now: after.suspended.endsRuns } : { container: name };
      await audit(call, dependencies, what, by, details);
    }
    // Also if nothing has changed: other nodes may not have received the first request.
    if (after.suspended) await restarts.suspended(name, after.suspended.endsRuns);
    return json(200, viewOfPolicy(after), hint);
  };
  resource(
    api,
    `${PATH}/suspend`,
    {
      POST: (call) => change(call, "container suspended", (by) => suspend(by.claims.jti, isNow(call), Date.now())),
    },
    { POST: NOW },
  );
  resource(api, `${PATH}/resume`, { POST: (call) => change(call, "container resumed", () => resume) });
  resource(
    api,
    `${PATH}/restart`,
    {
      POST: async (call) => {
        const [name, by] = await read(call, mayRestart);
        const now = isNow(call);
        const hint = await unknownContainer(name, dependencies);
        // A restart costs the machine the starts of processes, like the check of a task's code.
        await issueRate.admit(by);
        await restarts.restart(name, now);
        await audit(call, dependencies, "container restarted", by, { container: name, now });
        return json(200, { container: name, restarted: true }, hint);
      },
    },
    { POST: NOW },
  );
}

/** Returns a hint for a name that is perhaps misspelt. Each valid name is a container, so it is no error. */
async function unknownContainer(
  name: string,
  { policies, containers, tasks }: Pick<ApiDependencies, "policies" | "containers" | "tasks">,
): Promise<readonly string[]> {
  if (policies.get(name) || containers.activity(name).parties > 0) return [];
  if ((await tasks.list(name, "", 1)).length > 0) return [];
  const hint = `The container ${name} has no task, no policy and no guest now. Check its name: GET /api/containers lists those in use.`;
  return ["Caisson-Hint", hint];
}

/** Whether runs in flight end too. */
function isNow(call: Call): boolean {
  return readQuery(call.env.incoming.url!, NOW).now ?? false;
}

function mayStop({ claims }: Caller): void {
  requireAdmin(claims, "suspending and resuming a container");
}

/** A token with the verb `tasks` may change the code that runs in the container, and so replace its guests. */
function mayRestart({ claims }: Caller, container: string): void {
  requireVerb(claims, "tasks", "restarting a container");
  requireContainer(claims, container, "restarts");
}
