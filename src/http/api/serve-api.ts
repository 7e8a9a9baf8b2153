import type { IncomingMessage, ServerResponse } from "node:http";

import { getRequestListener, RequestError } from "@hono/node-server";

import { Problem } from "../../errors.ts";
import { makeApi } from "./api.ts";
import { type ApiDependencies, problem } from "./route.ts";

export type ServeApi = (request: IncomingMessage, response: ServerResponse) => void;

/** Returns the listener of all paths except runs. */
export function serveApi(dependencies: ApiDependencies): ServeApi {
  const listener = getRequestListener(makeApi(dependencies).fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => refuseTarget(error, dependencies),
  });
  return (request, response) => void listener(request, response);
}

/** @param error the error of the adapter, which makes a URL of the target before it calls the API */
function refuseTarget(error: unknown, { log }: ApiDependencies): Response {
  if (error instanceof RequestError) {
    return problem(null, new Problem("request_invalid", "the request target is not a valid URL"));
  }
  log.pino.error({ err: error }, "request failed");
  return problem(null, error);
}
