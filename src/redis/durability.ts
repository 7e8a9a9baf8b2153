import type { RedisLink } from "./link.ts";

/**
 * How this Redis would lose counts, a sentence each; none when it keeps them, or does not say.
 *
 * It is for the operator to decide, who may have replicas or disks that a server knows nothing of: so nothing is refused.
 */
export async function durabilityWarnings(link: RedisLink): Promise<string[]> {
  const info = await describe(link);
  const warnings = [];
  if (info.get("aof_enabled") === "0") {
    warnings.push(
      "Redis writes no append-only file: when it ends without warning, the runs since its last snapshot are admitted once " +
        "more; set appendonly yes, and appendfsync always (or no) as everysec may hold back what it has answered for",
    );
  }
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction") {
    warnings.push(`Redis drops keys when its memory is full (${policy}): runs would be forgotten; set noeviction`);
  }
  return warnings;
}

/** What `INFO` says, which a cluster's client and some services do not permit. */
async function describe(link: RedisLink): Promise<ReadonlyMap<string, string>> {
  try {
    const text = `${String(await link.call("INFO", "persistence"))}\n${String(await link.call("INFO", "memory"))}`;
    return new Map(
      text.split(/\r?\n/).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as const),
    );
  } catch {
    return new Map();
  }
}
