import { type NodeSystem, systemParts } from "../../nodes/answers/system.ts";
import { VERSION } from "../headers.ts";
import { requireAdmin } from "../permissions.ts";
import { answerOfAll, authenticateReading } from "./node-reads.ts";
import { type Api, type ApiDependencies, json, resource } from "./route.ts";
import { systemNodes } from "./system-nodes.ts";
import { systemWarnings } from "./system-warnings.ts";

/** Serves `GET /api/system`, for administrators: what `caisson doctor` reports, warnings, nodes, keys, and settings in force. */
export function serveSystem(api: Api, dependencies: ApiDependencies): void {
  const { system, tokens, nodes, isolation } = dependencies;
  resource(api, "/api/system", {
    GET: async (call) => {
      const reading = await authenticateReading(call, dependencies);
      requireAdmin(reading.by.claims, "reading the state and the settings of the service");
      const { level, mechanisms, resources, fallbackReason } = isolation;
      const read = async (): Promise<readonly NodeSystem[]> => [await partOf(dependencies)];
      return answerOfAll(call, dependencies, reading, systemParts(), read, ([own, ...others]) => {
        const { warnings, checks } = own!;
        const shown = systemNodes(dependencies, own!, others);
        return Promise.resolve(
          json(200, {
            version: VERSION,
            startedAt: system.startedAt,
            node: system.node,
            isolation: { level, mechanisms, resources, insteadOf: fallbackReason },
            warnings: [...warnings, ...shown.warnings],
            checks,
            nodes: shown.nodes,
            furtherNodes: nodes?.further ?? 0,
            keys: keysOf(tokens),
            capacity: system.capacity,
            settings: system.settings,
          }),
        );
      });
    },
  });
}

/** What other nodes receive of this one. */
async function partOf(dependencies: ApiDependencies): Promise<NodeSystem> {
  const { system, isolation } = dependencies;
  const findings = await system.findings();
  return {
    process: system.node.process,
    version: VERSION,
    startedAt: system.startedAt,
    isolation: isolation.level,
    warnings: systemWarnings(dependencies, findings),
    checks: findings.map(({ layer, state, proof, remedy = null }) => ({ layer, state, proof, remedy })),
    settings: system.settings.map(({ name, value, setBy }) => ({ name, value, setBy })),
  };
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
