import { VERSION } from "../headers.ts";
import { requireAdmin } from "../permissions.ts";
import { type Api, type ApiDependencies, authenticate, json, resource } from "./route.ts";
import type { SystemFacts } from "./system-facts.ts";
import { systemWarnings } from "./system-warnings.ts";

/** Serves `GET /api/system`, for administrators: what `caisson doctor` reports, warnings, nodes, keys, and settings in force. */
export function serveSystem(api: Api, dependencies: ApiDependencies): void {
  const { system, tokens, nodes, isolation } = dependencies;
  resource(api, "/api/system", {
    GET: async (call) => {
      const { claims } = await authenticate(call, dependencies);
      requireAdmin(claims, "reading the state and the settings of the service");
      const findings = await system.findings();
      const { level, mechanisms, resources, fallbackReason } = isolation;
      return json(200, {
        version: VERSION,
        startedAt: system.startedAt,
        node: system.node,
        isolation: { level, mechanisms, resources, insteadOf: fallbackReason },
        warnings: systemWarnings(dependencies, findings),
        checks: findings.map(({ layer, state, proof, remedy = null }) => ({ layer, state, proof, remedy })),
        nodes: nodesOf(system, nodes),
        furtherNodes: nodes?.further ?? 0,
        keys: keysOf(tokens),
        capacity: system.capacity,
        settings: system.settings,
      });
    },
  });
}

function nodesOf({ node: own }: SystemFacts, nodes: ApiDependencies["nodes"]): object[] {
  const others = (nodes?.peers ?? []).map(({ process, name, url, isAlive }) => ({
    ...{ name: name ?? process, process, url },
    state: isAlive ? "alive" : "silent",
  }));
  return [{ ...own, url: nodes?.url ?? null, state: "self" }, ...others];
}

/** The newest first. A key that is `retired` still verifies the tokens that it has signed. */
function keysOf({ keys }: ApiDependencies["tokens"]): object[] {
  const signing = keys.signing.kid;
  const retired = new Map(keys.retired.map(({ kid, sinceMs }) => [kid, sinceMs]));
  return keys.jwks().keys.map(({ kid }) => {
    const sinceMs = retired.get(kid) ?? null;
    const state = kid === signing ? "signing" : retired.has(kid) ? "retired" : "coming";
    return { kid, state, retiredAt: sinceMs === null ? null : new Date(sinceMs).toISOString() };
  });
}
