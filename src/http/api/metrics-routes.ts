import { EXPOSITION_TYPE } from "../../telemetry/metrics/exposition.ts";
import { readCredential } from "../credential.ts";
import { requireAdmin } from "../permissions.ts";
import { parseTarget } from "../target.ts";
import { isMetricsToken } from "./metrics-token.ts";
import { NO_QUERY } from "./queries.ts";
import { readQuery } from "./read-query.ts";
import { type Api, type ApiDependencies, authenticate, type Call, resource, text } from "./route.ts";

/** Serves the metrics, for administrators and for the collector that has the token of `--metrics-token`. */
export function serveMetrics(api: Api, dependencies: ApiDependencies): void {
  resource(api, "/metrics", {
    GET: async (call) => {
      await authorize(call, dependencies);
      return text(200, await dependencies.metricsText(), EXPOSITION_TYPE);
    },
  });
}

/** @throws {Problem} unless the request has the token of the collector, or a token of an administrator */
async function authorize(call: Call, dependencies: ApiDependencies): Promise<void> {
  const { metricsToken, config } = dependencies;
  const { incoming } = call.env;
  readQuery(incoming.url!, NO_QUERY);
  const { token } = readCredential(incoming, parseTarget(incoming.url!).query, config.queryKey);
  if (isMetricsToken(token, metricsToken)) return;
  const { claims } = await authenticate(call, dependencies);
  requireAdmin(claims, "reading metrics");
}
