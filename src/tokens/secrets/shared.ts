import { type RedisLink, redisScript } from "../../redis/link.ts";
import type { SealedSecrets, SecretStore } from "./store.ts";

/**
 * The secrets of tokens that nodes share through Redis. Those of a family lie together, under its head: so one look finds
 * what a run has, and one removal all that is below a token.
 */
export class SharedSecrets implements SecretStore {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async put({ jti, parents, sealed, forgetAt }: SealedSecrets, nowMs: number): Promise<void> {
    const kept = JSON.stringify({ sealed, parents, forgetAt });
    await this.#link.run(PUT, [this.#key(jti, parents)], [jti, kept, forgetAt ?? "", nowMs]);
  }

  async get(jti: string, parents: readonly string[]): Promise<(string | null)[]> {
    const texts = await this.#link.call("HMGET", this.#key(jti, parents), jti, ...parents);
    return (texts as (string | null)[]).map((text) => {
      return text === null ? null : (JSON.parse(text) as { sealed: string }).sealed;
    });
  }

  async remove(jti: string, parents: readonly string[], { below }: { below: boolean }): Promise<void> {
    await this.#link.run(REMOVE, [this.#key(jti, parents)], [jti, below ? 1 : 0]);
  }

  /** The link is closed by who opened it. */
  close(): void {}

  #key(jti: string, parents: readonly string[]): string {
    return `${this.#link.hashedKey(`secrets:${parents.at(-1) ?? jti}`)}:secrets`;
  }
}

/** Beside it, forgets those of the family that have ended. The whole goes with the last of it. */
const PUT = redisScript(`
local now, last, ever = tonumber(ARGV[4]), 0, false
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
local all = redis.call("HGETALL", KEYS[1])
for at = 1, #all, 2 do
  local ends = cjson.decode(all[at + 1]).forgetAt
  if ends == cjson.null then ever = true
  elseif ends < now then redis.call("HDEL", KEYS[1], all[at])
  else last = math.max(last, ends) end
end
if ever then redis.call("PERSIST", KEYS[1])
else redis.call("PEXPIREAT", KEYS[1], string.format("%.0f", last)) end
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
