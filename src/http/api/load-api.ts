import type { ApiDependencies } from "./route.ts";
import type { ServeApi } from "./serve-api.ts";

/**
 * Loads the API at its first request. It needs Node's HTTP types of the browser, which take 25 ms of a start and 4 MiB, and a
 * service that only runs code needs none of them.
 */
export async function loadApi(): Promise<(dependencies: ApiDependencies) => ServeApi> {
  const { serveApi } = await import("./serve-api.ts");
  return serveApi;
}
