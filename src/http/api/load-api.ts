import type { IncomingMessage, ServerResponse } from "node:http";

import type { ApiDependencies } from "./route.ts";

export type ServeApi = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Loads the API at its first request. It needs Node's HTTP types of the browser, which take 40 ms of a start and 10 MiB, and a
 * service that only runs code needs none of them.
 */
export async function loadApi(): Promise<(dependencies: ApiDependencies) => ServeApi> {
  const { serveApi } = await import("./serve-api.ts");
  return serveApi;
}
