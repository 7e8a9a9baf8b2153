import type { ApiDependencies } from "./route.ts";

/** Returns what was lost of the records and of the log, by their kind. A loss costs no run, so the service stays healthy. */
export function recordLosses({
  recordStore,
  usage,
  audit,
  drain,
  log,
}: Pick<ApiDependencies, "recordStore" | "usage" | "audit" | "drain" | "log">): Record<string, object> {
  const losses: Record<string, object> = {};
  const all = {
    ...{ history: recordStore.losses, usage: usage.losses, audit: audit.losses },
    ...{ logDrain: drain?.losses, log: log.losses },
  };
  for (const [kind, found] of Object.entries(all)) {
    // Members that are 0, null or an empty list are not a loss.
    const lost = Object.entries(found ?? {}).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
    if (lost.length > 0) losses[kind] = Object.fromEntries(lost);
  }
  return losses;
}
