import { request } from "../../test/contract/http.ts";
import { scrape, type Scrape } from "../../test/contract/scrape.ts";
import type { MeasuredService } from "../processes.ts";

/** Reads `/metrics` of a service. */
export function metricsOf({ url, token }: Pick<MeasuredService, "url" | "token">): Promise<Scrape> {
  const port = Number(new URL(url).port);
  return scrape({ request: (method, target, options) => request(port, method, target, { token, ...options }) });
}
