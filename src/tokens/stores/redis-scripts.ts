import { redisScript, type Script } from "../../redis/redis-link.ts";
import { REMEMBERED_MS } from "../store.ts";

/** The maximum number of ended names that one write removes from the list of a token above: more than it adds. */
const REMOVED_AT_ONCE = 32;

/**
 * Writes the record and the index together, because a listing removes names without a record from the index, and would never find
 * the token again. Also enforces the quota of the family: the family lists its tokens by their end, each with the keys of its
 * records. Also lists the tokens of each signing key, by the time when their records are deleted.
 *
 * Each token above lists the tokens below it twice: by name for pages, and by the time when the record is deleted, so that a write
 * can remove ended names.
 */
export const RECORD: Script = redisScript(`
local jti, record, forget, ends, most, counts = ARGV[1], ARGV[2], ARGV[3], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local below, time = ARGV[9], redis.call("TIME")
-- A token that is valid by either of the two clocks is not deleted or removed from a list, and counts.
local now = string.format("%.0f", math.min(tonumber(ARGV[4]), time[1] * 1000 + math.floor(time[2] / 1000)))
local function removeBelow(above, old)
  redis.call("ZREM", below .. above, old)
  redis.call("ZREM", below .. above .. ":ends", old)
end
if most >= 0 then
  local family = KEYS[4]
  if counts == "1" and redis.call("ZCOUNT", family, "(" .. now, "+inf") >= most then return 0 end
  local surplus = redis.call("ZCARD", family) + 1 - most
  if surplus > 0 then
    for _, ended in ipairs(redis.call("ZRANGEBYSCORE", family, "-inf", "(" .. now, "LIMIT", 0, surplus)) do
      local old, issued, used = string.match(ended, "^(%S+) (%S+) (%S+)$")
      -- The params of a token are any JSON, and some JSON does not decode here. The lists then lose the name at its end.
      local isRead, was = pcall(cjson.decode, redis.call("GET", issued))
      for _, above in ipairs(isRead and was.payload.parents or {}) do removeBelow(above, old) end
      redis.call("DEL", issued, used)
      redis.call("ZREM", KEYS[1], old)
      redis.call("ZREM", family, ended)
    end
  end
  redis.call("ZADD", family, ends, ARGV[8])
  local last = redis.call("ZRANGE", family, -1, -1, "WITHSCORES")[2]
  redis.call("PEXPIREAT", family, string.format("%.0f", tonumber(last) + ${REMEMBERED_MS}))
end
redis.call("ZADD", KEYS[1], 0, jti)
for at = 10, #ARGV do
  local names, times = below .. ARGV[at], below .. ARGV[at] .. ":ends"
  for _, old in ipairs(redis.call("ZRANGEBYSCORE", times, "-inf", "(" .. now, "LIMIT", 0, ${REMOVED_AT_ONCE})) do
    removeBelow(ARGV[at], old)
  end
  redis.call("ZADD", names, 0, jti)
  redis.call("ZADD", times, forget == "" and "+inf" or forget, jti)
  local last = redis.call("ZRANGE", times, -1, -1, "WITHSCORES")[2]
  for _, key in ipairs({names, times}) do
    if last == "inf" then redis.call("PERSIST", key)
    else redis.call("PEXPIREAT", key, string.format("%.0f", tonumber(last))) end
  end
end
if KEYS[5] then
  redis.call("ZREMRANGEBYSCORE", KEYS[5], "-inf", "(" .. now)
  redis.call("ZADD", KEYS[5], forget == "" and "+inf" or forget, jti)
end
if forget == "" then redis.call("SET", KEYS[2], record)
else redis.call("SET", KEYS[2], record, "PXAT", forget) end
return 1
`);

/** Adds the use of tokens. The keys are the record and the use of each token. The use expires with the record. */
export const ADD_USE: Script = redisScript(`
for at = 1, #KEYS, 2 do
  local ttl, use = redis.call("PTTL", KEYS[at]), KEYS[at + 1]
  if ttl ~= -2 then
    redis.call("HINCRBY", use, "runs", ARGV[at])
    local last = tonumber(redis.call("HGET", use, "last") or "0")
    if tonumber(ARGV[at + 1]) > last then redis.call("HSET", use, "last", ARGV[at + 1]) end
    if ttl > 0 then redis.call("PEXPIRE", use, ttl) end
  end
end
`);
