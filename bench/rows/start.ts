import type { Bench } from "../bench.ts";
import { timeRun } from "../load/run.ts";
import type { Round } from "../row.ts";

/** Times the start of the service, from the start of its process to its first answered run. */
export async function timeStart(bench: Bench): Promise<Round> {
  await using service = await bench.service();
  const { ms } = await timeRun(service, "first");
  return { firstMs: service.startMs + ms, bannerMs: service.startMs };
}
