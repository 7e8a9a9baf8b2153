import { ByteCache } from "../../byte-cache.ts";
import { type RedisLink, redisScript } from "../../redis/redis-link.ts";
import { MAX_VERSIONS, type PutOutcome, type StoredVersion, type TaskRoom, type TaskStore } from "../store.ts";

/** The number of index entries that one read returns. */
const SCANNED = 100;
/** The maximum number of bytes of records in memory. */
const RECORD_BYTES = 16 * 2 ** 20;
const BYTES_PER_CHAR = 2;
/** No change takes this time in milliseconds, so a note that is older belongs to a node that was killed. */
const CHANGE_MS = 10 * 60_000;

/** The named tasks that nodes share through Redis. Each task is a hash, and each container has an index of names. */
export class RedisTaskStore implements TaskStore {
  readonly #link: RedisLink;
  /**
   * The newest records by their key and etag. Each run reads its task before the limits are asked, and a public task needs no
   * token. Therefore a run transfers only the etag, and not the record, which may have a hundred kilobytes.
   */
  readonly #records = new ByteCache<string>(RECORD_BYTES);

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async newest(container: string, name: string): Promise<string | null> {
    const key = this.#key(container, name);
    const [etag, family] = (await this.#link.call("HMGET", key, "etag", "family")) as (string | null)[];
    if (!etag) return null;
    const known = (): string | undefined => this.#records.get(`${key} ${etag}`);
    // An earlier read of the queue may have kept the record.
    return known() ?? (await this.#link.readLarge(family || container, async () => known() ?? this.#readNewest(key)));
  }

  async version(container: string, name: string, version: number): Promise<StoredVersion | null> {
    const fields = [`etag:${version}`, `record:${version}`, `code:${version}`];
    const key = this.#key(container, name);
    const values = await this.#link.readLarge(container, () => this.#link.call("HMGET", key, ...fields));
    const [etag, record, code] = values as (string | null)[];
    return etag && record ? { version, etag, record, code: code ?? null } : null;
  }

  async versions(container: string, name: string): Promise<string[]> {
    const key = this.#key(container, name);
    const read = (): Promise<unknown> => this.#link.run(VERSIONS, [key], [MAX_VERSIONS]);
    return (await this.#link.readLarge(container, read)) as string[];
  }

  async put(
    container: string,
    name: string,
    added: StoredVersion,
    after: string | null,
    { containerTasks, family, familyTasks, familyBytes }: TaskRoom,
  ): Promise<PutOutcome> {
    const { version, etag, record, code } = added;
    const keys = [this.#key(container, name), this.#index(container), this.#families];
    const args = [
      ...[after ?? "", name, version, etag, record, code === null ? 0 : 1, code ?? "", MAX_VERSIONS],
      ...[containerTasks, family ?? "", familyTasks, familyBytes],
    ];
    // A megabyte of code would delay the decisions behind it on the connection.
    return (await this.#link.readLarge(family ?? container, () => this.#link.run(PUT, keys, args))) as PutOutcome;
  }

  async remove(container: string, name: string, etag: string): Promise<boolean> {
    const keys = [this.#key(container, name), this.#index(container), this.#families];
    return (await this.#link.run(REMOVE, keys, [etag, name])) === 1;
  }

  async list(container: string, after: string, count: number): Promise<string[]> {
    const found: string[] = [];
    let cursor = after;
    while (found.length < count) {
      const from = cursor === "" ? "-" : `(${cursor}`;
      const args = [this.#index(container), from, "+", "LIMIT", 0, Math.min(SCANNED, count - found.length)] as const;
      const names = (await this.#link.call("ZRANGEBYLEX", ...args)) as string[];
      if (names.length === 0) break;
      cursor = names.at(-1)!;
      const records = await Promise.all(names.map((name) => this.newest(container, name)));
      for (const record of records) if (record !== null) found.push(record);
    }
    return found;
  }

  async names(container: string, count: number): Promise<string[]> {
    return (await this.#link.call("ZRANGEBYLEX", this.#index(container), "-", "+", "LIMIT", 0, count)) as string[];
  }

  async keepNote(id: string, note: string, nowMs: number): Promise<void> {
    await this.#link.call("HSET", this.#notes, id, `${nowMs} ${note}`);
  }

  async deleteNote(id: string): Promise<void> {
    await this.#link.call("HDEL", this.#notes, id);
  }

  async killedNotes(nowMs: number): Promise<Map<string, string>> {
    const notes = (await this.#link.call("HGETALL", this.#notes)) as string[];
    const killed = new Map<string, string>();
    for (let at = 0; at < notes.length; at += 2) {
      const text = notes[at + 1]!;
      const space = text.indexOf(" ");
      // Another node may be making the change.
      if (Number(text.slice(0, space)) < nowMs - CHANGE_MS) killed.set(notes[at]!, text.slice(space + 1));
    }
    return killed;
  }

  /** Does nothing: the link is closed by its owner. */
  close(): void {}

  async #readNewest(key: string): Promise<string | null> {
    const values = await this.#link.call("HMGET", key, "etag", "family", "newest");
    const [etag, family, record] = values as (string | null)[];
    if (!etag || !record) return null;
    return this.#records.add(`${key} ${etag}`, record, record.length * BYTES_PER_CHAR, family || key);
  }

  /** Returns the key of the notes of the changes that are being made. */
  get #notes(): string {
    return this.#link.key("tasks:changes");
  }

  /** Returns the key of the numbers of tasks and bytes of each family, in all containers. */
  get #families(): string {
    return this.#link.key("tasks:families");
  }

  #key(container: string, name: string): string {
    // The name of a container contains no slash.
    return `${this.#link.hashedKey(`task:${container}/${name}`)}:task`;
  }

  #index(container: string): string {
    return `${this.#link.hashedKey(`tasks:${container}`)}:tasks`;
  }
}

/** Lua that changes the counts of a family. The task of an administrator belongs to no family. */
const COUNT = `
local function count(family, tasks, bytes)
  if family == "" then return end
  for what, change in pairs({tasks = tasks, bytes = bytes}) do
    local field = family .. ":" .. what
    if redis.call("HINCRBY", KEYS[3], field, string.format("%.0f", change)) <= 0 then redis.call("HDEL", KEYS[3], field) end
  end
end
`;

const PUT = redisScript(`
${COUNT}
local task, version = KEYS[1], tonumber(ARGV[3])
if (redis.call("HGET", task, "etag") or "") ~= ARGV[1] then return "changed" end
if ARGV[1] == "" and redis.call("ZCARD", KEYS[2]) >= tonumber(ARGV[9]) then return "containerTasks" end
local old = version - tonumber(ARGV[8])
local bytes = #ARGV[5] + #ARGV[7]
for at = old + 1, version - 1 do
  bytes = bytes + redis.call("HSTRLEN", task, "record:" .. at) + redis.call("HSTRLEN", task, "code:" .. at)
end
local before = redis.call("HGET", task, "family") or ""
local beforeBytes = tonumber(redis.call("HGET", task, "bytes") or "0")
local family = ARGV[10]
if family ~= "" then
  local tasks = tonumber(redis.call("HGET", KEYS[3], family .. ":tasks") or "0")
  local others = tonumber(redis.call("HGET", KEYS[3], family .. ":bytes") or "0")
  local own = before == family
  if own then others = others - beforeBytes end
  if not own and tasks >= tonumber(ARGV[11]) then return "familyTasks" end
  if (not own or bytes > beforeBytes) and others + bytes > tonumber(ARGV[12]) then return "familyBytes" end
end
count(before, -1, -beforeBytes)
count(family, 1, bytes)
redis.call("HSET", task, "etag", ARGV[4], "newest", ARGV[5], "version", version, "family", family, "bytes", bytes)
redis.call("HSET", task, "etag:" .. version, ARGV[4], "record:" .. version, ARGV[5])
if ARGV[6] == "1" then redis.call("HSET", task, "code:" .. version, ARGV[7]) end
redis.call("HDEL", task, "etag:" .. old, "record:" .. old, "code:" .. old)
redis.call("ZADD", KEYS[2], 0, ARGV[2])
return "stored"
`);

const REMOVE = redisScript(`
${COUNT}
if (redis.call("HGET", KEYS[1], "etag") or "") ~= ARGV[1] then return 0 end
count(redis.call("HGET", KEYS[1], "family") or "", -1, -tonumber(redis.call("HGET", KEYS[1], "bytes") or "0"))
redis.call("DEL", KEYS[1])
redis.call("ZREM", KEYS[2], ARGV[2])
return 1
`);

const VERSIONS = redisScript(`
local found, newest = {}, tonumber(redis.call("HGET", KEYS[1], "version") or "0")
for version = newest, math.max(1, newest - tonumber(ARGV[1]) + 1), -1 do
  local record = redis.call("HGET", KEYS[1], "record:" .. version)
  if record then found[#found + 1] = record end
end
return found
`);
