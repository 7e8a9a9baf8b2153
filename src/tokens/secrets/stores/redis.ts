import { type RedisLink, redisScript } from "../../../redis/redis-link.ts";
import type { SealedSecrets, SecretStore } from "../store.ts";

/**
 * The secrets of tokens that nodes share through Redis. One key contains the secrets of a family. So one lookup finds the secrets
 * of a run, and one removal deletes all secrets below a token.
 */
export class RedisSecretStore implements SecretStore {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async put(
    { jti, parents, sealed, forgetAt }: SealedSecrets,
    nowMs: number,
    mostBytes: number = Infinity,
  ): Promise<boolean> {
    const record = JSON.stringify({ sealed, parents, forgetAt });
    const most = mostBytes === Infinity ? -1 : mostBytes;
    const args = [jti, record, forgetAt ?? "", nowMs, sealed.length, most];
    const key = this.#key(jti, parents);
    // The script reads all secrets of the family, which takes a Redis milliseconds.
    return (await this.#link.readLarge(parents.at(-1) ?? jti, () => this.#link.run(PUT, [key], args))) === 1;
  }

  async get(jti: string, parents: readonly string[]): Promise<(string | null)[]> {
    const key = this.#key(jti, parents);
    const fields = [jti, ...parents];
    const small = (await this.#link.run(GET_SMALL, [key], fields)) as (string | null)[] | null;
    // Each run asks, and most tokens have no secrets: only large secrets wait for other large reads.
    const texts = small ?? (await this.#link.readLarge(fields.at(-1)!, () => this.#link.call("HMGET", key, ...fields)));
    return (texts as (string | null)[]).map((text) => {
      return text === null ? null : (JSON.parse(text) as { sealed: string }).sealed;
    });
  }

  async remove(jti: string, parents: readonly string[], { below }: { below: boolean }): Promise<void> {
    const key = this.#key(jti, parents);
    const remove = (): Promise<unknown> => this.#link.run(REMOVE, [key], [jti, below ? 1 : 0]);
    await (below ? this.#link.readLarge(parents.at(-1) ?? jti, remove) : remove());
  }

  /** Does nothing: the link is closed by its owner. */
  close(): void {}

  #key(jti: string, parents: readonly string[]): string {
    return `${this.#link.hashedKey(`secrets:${parents.at(-1) ?? jti}`)}:secrets`;
  }
}

/** The most bytes of secrets that are read at once, without a wait for other large reads. */
const SMALL_BYTES = 4_096;

/** Returns the secrets if they are small, otherwise nil. */
const GET_SMALL = redisScript(`
local bytes = 0
for _, jti in ipairs(ARGV) do bytes = bytes + redis.call("HSTRLEN", KEYS[1], jti) end
if bytes > ${SMALL_BYTES} then return false end
return redis.call("HMGET", KEYS[1], unpack(ARGV))
`);

/**
 * Stores secrets within the byte quota of the family, and deletes the family's ended secrets. The key expires with its last
 * secrets. Secrets that are valid by either of the two clocks are kept.
 */
const PUT = redisScript(`
local time, most = redis.call("TIME"), tonumber(ARGV[6])
local now = math.min(tonumber(ARGV[4]), time[1] * 1000 + math.floor(time[2] / 1000))
local bytes, last, ever = tonumber(ARGV[5]), tonumber(ARGV[3]) or 0, ARGV[3] == ""
local all = redis.call("HGETALL", KEYS[1])
for at = 1, #all, 2 do
  if all[at] ~= ARGV[1] then
    local record = cjson.decode(all[at + 1])
    if record.forgetAt ~= cjson.null and record.forgetAt < now then redis.call("HDEL", KEYS[1], all[at])
    else
      bytes = bytes + #record.sealed
      if record.forgetAt == cjson.null then ever = true else last = math.max(last, record.forgetAt) end
    end
  end
end
if most >= 0 and bytes > most then return 0 end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
if ever then redis.call("PERSIST", KEYS[1])
else redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", last)) end
return 1
`);

const REMOVE = redisScript(`
redis.call("HDEL", KEYS[1], ARGV[1])
if ARGV[2] == "0" then return end
local all = redis.call("HGETALL", KEYS[1])
for at = 1, #all, 2 do
  for _, parent in ipairs(cjson.decode(all[at + 1]).parents) do
    if parent == ARGV[1] then redis.call("HDEL", KEYS[1], all[at]) end
  end
end
`);
