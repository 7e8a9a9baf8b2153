import type { RedisLink } from "./redis-link.ts";

/** How a Redis persists data. A member is null if the Redis does not report it. */
export interface Keeping {
  readonly version: string | null;
  /** Whether it writes an append-only file. */
  readonly appendOnly: boolean | null;
  /** When it flushes that file to the disk: `always`, `everysec` or `no`. */
  readonly fsync: string | null;
  /** Which keys it evicts when its memory is full. */
  readonly eviction: string | null;
}

const NO_EVICTION = "noeviction";

/** Queries the Redis. Some hosted services and the cluster client do not permit that. */
export async function keepingOf(link: RedisLink): Promise<Keeping> {
  const info = await infoOf(link);
  const appendOnly = info.get("aof_enabled");
  return {
    version: info.get("valkey_version") ?? info.get("redis_version") ?? null,
    appendOnly: appendOnly === undefined ? null : appendOnly === "1",
    fsync: await fsyncOf(link),
    eviction: info.get("maxmemory_policy") ?? null,
  };
}

/** Returns how the Redis may lose acknowledged counts when its process ends, or null if it does not or is unknown. */
export function persistenceWarning({ appendOnly, fsync }: Keeping): string | null {
  if (appendOnly === false) {
    return (
      "Redis writes no append-only file: if it crashes, it forgets the runs since its last snapshot, which are then admitted " +
      "again; set appendonly yes, and appendfsync always (or no), because everysec may delay acknowledged writes"
    );
  }
  if (appendOnly === true && fsync === "everysec") {
    return (
      "Redis may delay acknowledged writes for up to two seconds (appendfsync everysec): if it crashes, it forgets these runs, " +
      "which are then admitted again; set appendfsync always, or no, which survives a crash but not a loss of power"
    );
  }
  return null;
}

/** Returns how the Redis evicts counts, or null if it does not or is unknown. */
export function evictionWarning({ eviction }: Keeping): string | null {
  if (eviction === null || eviction === NO_EVICTION) return null;
  return `Redis evicts keys when its memory is full (${eviction}) and would forget runs; set maxmemory-policy ${NO_EVICTION}`;
}

/**
 * Returns a sentence for each way in which this Redis may lose counts.
 *
 * The service warns and does not refuse to start, because the operator may have replicas or disks that Redis does not
 * report.
 */
export async function durabilityWarnings(link: RedisLink): Promise<string[]> {
  const keeping = await keepingOf(link);
  return [persistenceWarning(keeping), evictionWarning(keeping)].filter((warning) => warning !== null);
}

async function infoOf(link: RedisLink): Promise<ReadonlyMap<string, string>> {
  const sections = ["server", "persistence", "memory"];
  try {
    const texts = await Promise.all(sections.map(async (section) => String(await link.call("INFO", section))));
    const lines = texts.join("\n").split(/\r?\n/);
    return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as const));
  } catch {
    return new Map();
  }
}

async function fsyncOf(link: RedisLink): Promise<string | null> {
  try {
    const answer = await link.call("CONFIG", "GET", "appendfsync");
    const [, value] = Array.isArray(answer) ? answer : Object.entries(answer as object).flat();
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}
