/**
 * One decision over all windows of all keys, inside Redis: as `CellLog` and `decide`, on packed strings.
 *
 * The log of a key is a string: the total of everything that was left out (6 bytes, little-endian), then an entry for each
 * time that runs were admitted at: the time in milliseconds and the total up to and at that time, 6 bytes each. So a
 * charge is 12 bytes appended, or 6 overwritten in the same millisecond, which is also all that replicas and the
 * append-only file are told; the whole string is written when it is compacted.
 *
 * Time is that of Redis, and goes on as in `SteadyClock`: the first key holds the newest time, to the second, and how far
 * the clock was set back, in milliseconds.
 *
 *   KEYS[1]   the clock; KEYS[2] the names of all logs; KEYS[3..] the logs
 *   ARGV[1]   "admit", "read" or "reset"
 *   ARGV[2]   the time of Redis after which nobody waits for the answer any more: then nothing is changed
 *   ARGV[3..] for each log what it is listed as, the number of windows that are tracked, and of each of these the place
 *             (1 to 6) and the limit
 *
 * It answers with 1 (admitted), 0 (refused; a reading may have either) or -1 (too late), the time of Redis, and for each
 * tracked window of each log what is left before the charge, and the milliseconds until that grows. A reading has the use
 * of each window before these.
 *
 * @param time what is counted by, in milliseconds: the time of Redis, or one that tests have in their hands
 */
export function limitScript(time = "raw"): string {
  return SCRIPT.replace("local now = raw", `local now = ${time}`);
}

/**
 * Which of some logs count a run: for each a 1, or a 0, and then its name is dropped.
 *
 *   KEYS as above; ARGV[1..] the names of the logs
 */
export function liveScript(time = "raw"): string {
  return LIVE.replace("local now = raw", `local now = ${time}`);
}

const LIVE = `
local seconds = redis.call("TIME")
local raw = seconds[1] * 1000 + math.floor(seconds[2] / 1000)
local clock = redis.call("GET", KEYS[1])
local latest, ahead = 0, 0
if clock then latest, ahead = struct.unpack("<I6I6", clock) end
local now = raw + ahead
if now < latest then now = latest end
local live = {}
for at = 3, #KEYS do
  local newest = redis.call("GETRANGE", KEYS[at], -12, -7)
  live[at - 2] = #newest == 6 and struct.unpack("<I6", newest) + 2678400000 > now and 1 or 0
  if live[at - 2] == 0 then redis.call("ZREM", KEYS[2], ARGV[at - 2]) end
end
return live
`;

/** Its numbers are those of `cell-log.ts`. */
const SCRIPT = `
local WINDOWS = {1000, 60000, 3600000, 86400000, 604800000, 2678400000}
local LONGEST = 2678400000
local EXACT_ENTRIES, MAX_ENTRIES, CELLS = 128, 512, 64
local HOUR = 3600000
-- The characters of a hash, which ends a key and a name.
local HASH = 32
-- The bytes before the first entry, and of an entry.
local BASE, ENTRY = 6, 12
local unpack6, pack6 = struct.unpack, struct.pack
local floor = math.floor

local function time_at(log, at) return (unpack6("<I6", log, ENTRY * at - 5)) end
local function total_at(log, at) return (unpack6("<I6", log, ENTRY * at + 1)) end

-- The newest entry that is not later than a time; 0 when there is none.
local function last_before(log, count, time)
  if count == 0 or time_at(log, 1) > time then return 0 end
  if time_at(log, count) <= time then return count end
  local low, high = 1, count
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if time_at(log, middle) <= time then low = middle else high = middle end
  end
  return low
end

-- The first entry from which on no more than so many runs come after it.
local function first_with(log, low, high, total, allowed)
  while low < high do
    local middle = floor((low + high) / 2)
    if total - total_at(log, middle) <= allowed then high = middle else low = middle + 1 end
  end
  return low
end

-- Drops what no window holds any more, and merges neighbours where a window holds more than it keeps exactly.
local function compacted(log, count, now)
  local left, crowded = {}, {}
  for window = 1, 6 do
    left[window] = last_before(log, count, now - WINDOWS[window])
    crowded[window] = count - left[window] > EXACT_ENTRIES
  end
  local parts = {pack6("<I6", total_at(log, left[6]))}
  local window, kept_from = 6, left[6] + 1
  local length = LONGEST
  local time = kept_from <= count and time_at(log, kept_from)
  for at = kept_from, count - 1 do
    -- The shortest window that still holds this entry. What it has not left, no longer one has.
    while window > 1 and left[window - 1] < at do
      window = window - 1
      length = WINDOWS[window]
    end
    local next_time = time_at(log, at + 1)
    -- Merged over the edge of a shorter window, a run would count in it again. Cells of a window lie whole within those of
    -- each longer one, but a week's do not within a month's: both are asked.
    if crowded[window] and not (window > 1 and left[window - 1] == at)
      and floor(time * CELLS / length) == floor(next_time * CELLS / length)
      and floor(time * CELLS / LONGEST) == floor(next_time * CELLS / LONGEST) then
      if kept_from < at then parts[#parts + 1] = string.sub(log, ENTRY * kept_from - 5, ENTRY * at - 6) end
      kept_from = at + 1
    end
    time = next_time
  end
  parts[#parts + 1] = string.sub(log, ENTRY * kept_from - 5)
  return table.concat(parts)
end

-- Names outlive their logs, which expire. For each new one a few are looked at: enough to visit all before there are twice
-- as many.
local function list(name, key)
  redis.call("ZADD", KEYS[2], 0, name)
  local logs = string.sub(key, 1, -HASH - 1)
  for _, other in ipairs(redis.call("ZRANDMEMBER", KEYS[2], 2)) do
    if redis.call("EXISTS", logs .. string.sub(other, -HASH)) == 0 then redis.call("ZREM", KEYS[2], other) end
  end
end

local function charge(key, name, log, count, now)
  if count == 0 then
    redis.call("SET", key, pack6("<I6I6I6", 0, now, 1), "PX", LONGEST + HOUR)
    if name ~= "" then list(name, key) end
    return
  end
  local newest, total = time_at(log, count), total_at(log, count)
  if newest == now then
    redis.call("SETRANGE", key, #log - 6, pack6("<I6", total + 1))
    return
  end
  local entry = pack6("<I6I6", now, total + 1)
  if count < MAX_ENTRIES then
    redis.call("APPEND", key, entry)
  else
    redis.call("SET", key, compacted(log .. entry, count + 1, now), "KEEPTTL")
  end
  -- Once an hour is enough, as each time it is set to an hour more than is needed.
  if floor(newest / HOUR) ~= floor(now / HOUR) then redis.call("PEXPIRE", key, LONGEST + HOUR) end
end

local seconds = redis.call("TIME")
local raw = seconds[1] * 1000 + floor(seconds[2] / 1000)
if raw > tonumber(ARGV[2]) then return {-1, raw} end
if ARGV[1] == "reset" then
  for at = 3, #KEYS do redis.call("DEL", KEYS[at]) end
  return {1, raw}
end

local logs = redis.call("MGET", unpack(KEYS))
local latest, ahead, behind = 0, 0, 0
if logs[1] then latest, ahead = unpack6("<I6I6", logs[1]) end
local now = raw + ahead
if now < latest then
  behind = latest - now
  now = latest
end
for at = 3, #KEYS do
  local log = logs[at] or ""
  logs[at] = log
  -- The clock is written down once a second: a log may be newer than that by as much.
  if #log > BASE then
    local newest = unpack6("<I6", log, #log - 11)
    if newest > now then now = newest end
  end
end

local answer, size = {1, raw}, 2
local reading = ARGV[1] == "read"
local argument, names = 3, {}
for at = 3, #KEYS do
  local log = logs[at]
  local count = #log > BASE and (#log - BASE) / ENTRY or 0
  local total = count > 0 and total_at(log, count) or 0
  if reading then
    for window = 1, 6 do
      size = size + 1
      answer[size] = count > 0 and total - total_at(log, last_before(log, count, now - WINDOWS[window])) or 0
    end
  end
  local tracked = tonumber(ARGV[argument + 1])
  names[at] = ARGV[argument]
  for first = argument + 2, argument + 1 + 2 * tracked, 2 do
    local length, limit = WINDOWS[tonumber(ARGV[first])], tonumber(ARGV[first + 1])
    local used, wait = 0, 0
    if count > 0 then
      local left = last_before(log, count, now - length)
      used = total - total_at(log, left)
      if used > 0 then
        local next = left + 1
        -- A limit may have been lowered below the use: then the first runs to expire free nothing.
        if used > limit then next = first_with(log, next, count, total, limit - 1) end
        wait = time_at(log, next) + length - now
      end
    end
    local remaining = used < limit and limit - used or 0
    if remaining == 0 then answer[1] = 0 end
    answer[size + 1], answer[size + 2] = remaining, wait
    size = size + 2
  end
  argument = argument + 2 + 2 * tracked
end

if reading then return answer end
if behind > 0 or (answer[1] == 1 and now - latest >= 1000) then
  redis.call("SET", KEYS[1], pack6("<I6I6", now, ahead + behind), "PX", LONGEST + HOUR)
end
if answer[1] == 1 then
  for at = 3, #KEYS do
    local log = logs[at]
    charge(KEYS[at], names[at], log, #log > BASE and (#log - BASE) / ENTRY or 0, now)
  end
end
return answer
`;
