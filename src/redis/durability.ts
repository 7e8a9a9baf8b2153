import type { RedisLink } from "./link.ts";

/** What a Redis says of how it keeps what it is given; null where it does not say. */
export interface Keeping {
  readonly version: string | null;
  /** Whether it writes an append-only file. */
  readonly appendOnly: boolean | null;
  /** When it gives that file to the disk: `always`, `everysec` or `no`. */
  readonly fsync: string | null;
  /** What it drops when its memory is full. */
  readonly eviction: string | null;
}

const KEEPS_ALL = "noeviction";

/** Asks it. Some services and the client of a cluster do not permit that. */
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

/** How it may lose counts that it has answered for although it is not stopped by force; null when it does not, or does not say. */
export function persistenceWarning({ appendOnly, fsync }: Keeping): string | null {
  if (appendOnly === false) {
    return (
      "Redis writes no append-only file: when it ends without warning, the runs since its last snapshot are admitted once " +
      "more; set appendonly yes, and appendfsync always (or no) as everysec may hold back what it has answered for"
    );
  }
  if (appendOnly === true && fsync === "everysec") {
    return (
      "Redis may hold back up to two seconds of what it has answered for (appendfsync everysec): when it ends without " +
      "warning, those runs are admitted once more; set appendfsync always, or no, which outlives its end but no loss of power"
    );
  }
  return null;
}

/** How it drops counts that it should keep; null when it does not, or does not say. */
export function evictionWarning({ eviction }: Keeping): string | null {
  if (eviction === null || eviction === KEEPS_ALL) return null;
  return `Redis drops keys when its memory is full (${eviction}): runs would be forgotten; set maxmemory-policy ${KEEPS_ALL}`;
}

/**
 * How this Redis would lose counts, a sentence each; none when it keeps them, or does not say.
 *
 * It is for the operator to decide, who may have replicas or disks that a server knows nothing of: so nothing is refused.
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
