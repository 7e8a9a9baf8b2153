import { inlined, LOG_CONSTANTS, LOG_SCRIPT } from "./log-script.ts";

/**
 * Makes decisions inside Redis, over all windows of all their keys: like `decide`, one after the other, all at one time.
 *
 * The time is that of Redis and continues as in `SteadyClock`. The first key holds the newest time, accurate to the second,
 * and how far the clock was set back, in milliseconds.
 *
 *   KEYS[1]   the clock; KEYS[2] the names of all logs; KEYS[3..] the logs, each once
 *   ARGV[1]   "admit", "read" or "reset"
 *   ARGV[2]   the deadline, by the clock of Redis: after it no node waits for the reply, and the script changes nothing
 *   ARGV[3]   the decisions, packed: for each the number of its charges (1 byte). For each charge the index of its log in
 *             KEYS (2), and six limits (6 each), 0 if the window is not tracked; little-endian
 *   ARGV[4..] for each log the name under which it is listed, or an empty string
 *
 * The reply begins with a string: 1, or 0 after the deadline, and the time of Redis (6). A byte for each decision follows: 1
 * (admitted), 0 (refused; a reading may have either), or 2 (failed, because a stored log cannot be read). If the decision
 * did not fail, two numbers follow for each tracked window of each charge, 6 bytes each: the runs left before the run, and
 * the milliseconds until that number grows. A reading has the use of all windows before these. The reasons of the failed
 * decisions follow after the string.
 *
 * @param time the Lua expression of the time in milliseconds: the time of Redis, or a time that a test controls
 */
export function limitScript(time = "raw"): string {
  return inlined(SCRIPT, { ...LOG_CONSTANTS, ...CONSTANTS }).replace("local now = raw", `local now = ${time}`);
}

/**
 * Returns for each log 1 if it counts a run, otherwise 0. Removes the names of the logs with 0.
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

const CONSTANTS = {
  // The characters of the hash at the end of a key and of a name.
  HASH: 32,
  CHARGE_BYTES: 38,
  CHARGE_FORMAT: `"<I2I6I6I6I6I6I6"`,
  FAILED: 2,
} as const;

const SCRIPT = `
local seconds = redis.call("TIME")
local raw = seconds[1] * 1000 + math.floor(seconds[2] / 1000)
if raw > tonumber(ARGV[2]) then return {struct.pack("<I1I6", 0, raw)} end
if ARGV[1] == "reset" then
  for at = 3, #KEYS do redis.call("DEL", KEYS[at]) end
  return {struct.pack("<I1I6", 1, raw)}
end
local clock = redis.call("GET", KEYS[1])
local latest, ahead, behind = 0, 0, 0
if clock then latest, ahead = struct.unpack("<I6I6", clock) end
local now = raw + ahead
if now < latest then
  behind = latest - now
  now = latest
end
${LOG_SCRIPT}
-- Names outlive their logs, which expire. For each new name the script checks two others: enough to visit all before their
-- number doubles.
local function list(name, key)
  call("ZADD", KEYS[2], 0, name .. " " .. sub(key, -HASH))
  local logs = sub(key, 1, -HASH - 1)
  for _, other in ipairs(call("ZRANDMEMBER", KEYS[2], 2)) do
    if call("EXISTS", logs .. sub(other, -HASH)) == 0 then call("ZREM", KEYS[2], other) end
  end
end

local reading = ARGV[1] == "read"
local logs, charges, answer, size, formats = {}, {}, {}, 0, {}

local function push(number)
  size = size + 1
  answer[size] = number
end

-- Appends the use of a log to the answer, if requested, and what is left of it. Returns whether a window has no run left.
local function examine(at, limits)
  local key, log, full = KEYS[at], logs[at], false
  if reading then
    for window = 1, 6 do push((use_of(key, log, window))) end
  end
  for window = 1, 6 do
    local limit = limits[window + 1]
    if limit > 0 then
      local used, wait = use_of(key, log, window)
      -- If the limit was lowered below the use, the first runs to expire free nothing.
      if used > limit then wait = wait_for(key, log, window, limit - 1) end
      full = full or used >= limit
      answer[size + 1], answer[size + 2] = used < limit and limit - used or 0, wait
      size = size + 2
    end
  end
  return full
end

local function decide(from, count)
  for each = 1, count do
    local limits = {unpack6(CHARGE_FORMAT, ARGV[3], from + CHARGE_BYTES * (each - 1))}
    local at = limits[1]
    charges[each] = limits
    local log = logs[at]
    if not log then
      log = read_log(KEYS[at])
      logs[at] = log
    end
    -- The script stores the clock once a second, so a log may be newer than the clock by up to a second.
    if log[NEWEST] > now then now = log[NEWEST] end
  end
  size = 1
  local full = false
  for each = 1, count do full = examine(charges[each][1], charges[each]) or full end
  answer[1] = full and 0 or 1
  return not full
end

local parts, reasons, admitted = {struct.pack("<I1I6", 1, raw)}, {}, false
local from, packed = 1, ARGV[3]
while from <= #packed do
  local count = string.byte(packed, from)
  -- A read error fails only its own decision. A write error fails all, because one decision does not cause it.
  local made, result = pcall(decide, from + 1, count)
  from = from + 1 + CHARGE_BYTES * count
  if made then
    local format = formats[size] or "<I1" .. string.rep("I6", size - 1)
    formats[size] = format
    parts[#parts + 1] = pack6(format, unpack(answer, 1, size))
    if result and not reading then
      admitted = true
      for each = 1, count do
        local at = charges[each][1]
        local log = logs[at]
        if log[NEWEST] == 0 then
          begin_log(KEYS[at], log)
          if ARGV[at + 1] ~= "" then list(ARGV[at + 1], KEYS[at]) end
        else
          charge(KEYS[at], log)
        end
      end
    end
  else
    parts[#parts + 1] = pack6("<I1", FAILED)
    reasons[#reasons + 1] = type(result) == "table" and result.err or tostring(result)
  end
end

if not reading then
  for at = 3, #KEYS do
    if logs[at] then finish(KEYS[at], logs[at]) end
  end
  if behind > 0 or (admitted and now - latest >= 1000) then
    call("SET", KEYS[1], pack6("<I6I6", now, ahead + behind), "PX", LONGEST + HOUR)
  end
end
return {table.concat(parts), unpack(reasons)}
`;
