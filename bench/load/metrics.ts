import { request } from "../../test/contract/http.ts";
import { scrape, type Scrape } from "../../test/contract/scrape.ts";
import type { MeasuredService } from "../processes.ts";

/** Reads `/metrics` of a service. */
export function metricsOf({ url, token }: Pick<MeasuredService, "url" | "token">): Promise<Scrape> {
  const port = Number(new URL(url).port);
  return scrape({ request: (method, target, options) => request(port, method, target, { token, ...options }) });
}

/** Returns how many guests containers have received so far, from the pool or started for them. */
export async function guestsGiven(service: MeasuredService): Promise<number> {
  const { series } = await metricsOf(service);
  const starts = series.filter(({ name }) => name === "caisson_run_start_seconds_count");
  return starts.filter(({ labels }) => labels["start"] !== "warm").reduce((sum, { value }) => sum + value, 0);
}
