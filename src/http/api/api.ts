import { Hono } from "hono";

import { serveMcp } from "../mcp/mcp-routes.ts";
import { asProblem } from "../problem.ts";
import { parseTarget } from "../target.ts";
import { serveAudit } from "./audit-routes.ts";
import { cancelRoute } from "./cancel-route.ts";
import { serveCheck } from "./check-routes.ts";
import { serveConsole } from "./console-routes.ts";
import { serveContainers } from "./container-routes.ts";
import { serveLimits } from "./limit-routes.ts";
import { serveMetrics } from "./metrics-routes.ts";
import { servePackages } from "./package-routes.ts";
import { servePublic } from "./public-routes.ts";
import { notFound } from "./refused-paths.ts";
import { type Api, type ApiDependencies, incomingOf, problem } from "./route.ts";
import { serveRuns } from "./run-routes.ts";
import { serveSystem } from "./system-routes.ts";
import { serveTasks } from "./task-routes.ts";
import { serveTokens } from "./token-routes.ts";
import { serveUsage } from "./usage-routes.ts";

/** Creates the API: all paths except runs. */
export function makeApi(dependencies: ApiDependencies): Api {
  // The path is used as the client sent it. Resolved as a URL, a container named ".." would become another path.
  const api: Api = new Hono({ getPath: (_, options) => parseTarget(incomingOf(options).url!).path });
  serveLimits(api, dependencies);
  serveContainers(api, dependencies);
  serveTokens(api, dependencies);
  serveTasks(api, dependencies);
  serveCheck(api, dependencies);
  servePackages(api, dependencies);
  serveUsage(api, dependencies);
  serveAudit(api, dependencies);
  serveSystem(api, dependencies);
  serveRuns(api, dependencies, {
    // The listener passes this method to the path of runs before it comes here.
    container: { POST: (call) => problem(call, notFound(call.req.path)) },
    run: { DELETE: cancelRoute(dependencies) },
  });
  serveMetrics(api, dependencies);
  serveMcp(api, dependencies);
  servePublic(api, dependencies);
  serveConsole(api, dependencies);
  api.notFound((call) => problem(call, notFound(call.req.path, pathsOf(api))));
  api.onError((error, call) => {
    const { options, code } = asProblem(error);
    if (code === "internal_error") dependencies.log.pino.error({ err: options.cause }, "request failed");
    return problem(call, error);
  });
  return api;
}

function pathsOf(api: Api): string[] {
  return api.routes.map(({ path }) => path).filter((path) => path !== "/" && !path.endsWith("/*"));
}
