/** What the log's script names, and its numbers. */
export const LOG_CONSTANTS = {
  // As in cell-log.ts.
  EXACT_ENTRIES: 128,
  MAX_ENTRIES: 512,
  CELLS: 64,
  LONGEST: 2_678_400_000,
  HOUR: 3_600_000,
  // The bytes of the total, of all before the first entry, and of an entry.
  BASE_BYTES: 6,
  HEAD_BYTES: 90,
  ENTRY_BYTES: 12,
  // The places of a log's numbers. BYTES is 0 until it is known; the hint of each window has three, from FIRST on.
  NEWEST: 1,
  TOTAL: 2,
  BYTES: 3,
  PENDING: 4,
  BASE: 5,
  FIRST: 6,
  WORTH_WRITING: 24,
  // What PENDING says: nothing was charged; what was is written; the newest total is not written.
  UNCHARGED: 0,
  WRITTEN: 1,
  UNWRITTEN: 2,
  // So many entries are read to bring a hint up to date, before all are. One that has become better by WORTH_ENTRIES is
  // written, and one that holds for WORTH_MS: others would be written at each run.
  CHUNK: 16,
  WORTH_ENTRIES: 8,
  WORTH_MS: 100,
  HINTS_FORMAT: `"<I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2"`,
  HEAD_FORMAT: `"<I6I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2"`,
} as const;

/** A script with numbers for names: a local of Lua is made anew at each call, and again for each function that uses it. */
export function inlined(script: string, constants: Readonly<Record<string, number | string>>): string {
  return script.replaceAll(/\b[A-Z][A-Z_]+\b/g, (name) => String(constants[name] ?? name));
}

/**
 * The log of one key inside Redis, in its language: as `CellLog`, on a packed string. Numbers are little-endian.
 *
 *   the total of everything that was left out (6 bytes)
 *   for each of the six windows a hint: the time of the first entry that it holds (6), the total before it (6), and which
 *   entry it is (2)
 *   the entries, oldest first: a time in milliseconds (6), and the total up to and at that time (6)
 *
 * To make a string of Redis one of Lua takes Redis longer than anything else here, as it reads each byte to find its hash.
 * So a decision reads the head and the newest entry, and where a hint is out of date a few more. A hint never goes back,
 * as time does not, so an old one says where to begin.
 *
 * A charge appends 12 bytes, or overwrites 6 in the same millisecond, which is also all that replicas and the append-only
 * file are told. Now and then a head is written with it, or the whole string when it is compacted.
 *
 * While it is in use a log is an array of numbers, in the places named below. It needs `now`.
 */
export const LOG_SCRIPT = `
local WINDOWS = {1000, 60000, 3600000, 86400000, 604800000, 2678400000}
local call, floor, sub = redis.call, math.floor, string.sub
local unpack6, pack6 = struct.unpack, struct.pack

local function time_at(entries, at) return (unpack6("<I6", entries, ENTRY_BYTES * at - 11)) end
local function total_at(entries, at) return (unpack6("<I6", entries, ENTRY_BYTES * at - 5)) end

-- The newest entry that is not later than a time; 0 when there is none.
local function last_before(entries, count, time)
  if time_at(entries, 1) > time then return 0 end
  if time_at(entries, count) <= time then return count end
  local low, high = 1, count
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if time_at(entries, middle) <= time then low = middle else high = middle end
  end
  return low
end

-- The first entry from which on no more than so many runs come after it.
local function first_with(entries, low, high, total, allowed)
  while low < high do
    local middle = floor((low + high) / 2)
    if total - total_at(entries, middle) <= allowed then high = middle else low = middle + 1 end
  end
  return low
end

-- Drops what no window holds any more, and merges neighbours where a window holds more than it keeps exactly.
local function compacted(entries, count)
  local left, crowded = {}, {}
  for window = 1, 6 do
    left[window] = last_before(entries, count, now - WINDOWS[window])
    crowded[window] = count - left[window] > EXACT_ENTRIES
  end
  local parts = {}
  local window, kept_from = 6, left[6] + 1
  local length = LONGEST
  local time = time_at(entries, kept_from)
  for at = kept_from, count - 1 do
    -- The shortest window that still holds this entry. What it has not left, no longer one has.
    while window > 1 and left[window - 1] < at do
      window = window - 1
      length = WINDOWS[window]
    end
    local next_time = time_at(entries, at + 1)
    -- Merged over the edge of a shorter window, a run would count in it again. Cells of a window lie whole within those of
    -- each longer one, but a week's do not within a month's: both are asked.
    if crowded[window] and not (window > 1 and left[window - 1] == at)
      and floor(time * CELLS / length) == floor(next_time * CELLS / length)
      and floor(time * CELLS / LONGEST) == floor(next_time * CELLS / LONGEST) then
      if kept_from < at then parts[#parts + 1] = sub(entries, ENTRY_BYTES * kept_from - 11, ENTRY_BYTES * at - 12) end
      kept_from = at + 1
    end
    time = next_time
  end
  parts[#parts + 1] = sub(entries, ENTRY_BYTES * kept_from - 11)
  return table.concat(parts), left[6] > 0 and total_at(entries, left[6])
end

local function compact(key, log)
  local entries, base = compacted(call("GETRANGE", key, HEAD_BYTES, -1), (log[BYTES] - HEAD_BYTES) / ENTRY_BYTES)
  if base then log[BASE] = base end
  local count = #entries / ENTRY_BYTES
  for window = 1, 6 do
    local left = last_before(entries, count, now - WINDOWS[window])
    local hint = FIRST + 3 * window - 3
    log[hint], log[hint + 2] = time_at(entries, left + 1), left + 1
    log[hint + 1] = left > 0 and total_at(entries, left) or log[BASE]
  end
  call("SET", key, pack6(HEAD_FORMAT, unpack(log, BASE, WORTH_WRITING - 1)) .. entries, "KEEPTTL")
  log[BYTES], log[WORTH_WRITING] = HEAD_BYTES + #entries, false
end

-- A log as it is kept; a new one has no entry.
local function read_log(key)
  local head = call("GETRANGE", key, "0", "89")
  if head == "" then return {0, 0, 0, UNCHARGED} end
  local newest, total = unpack6("<I6I6", call("GETRANGE", key, "-12", "-1"))
  local log = {newest, total, 0, UNCHARGED, unpack6(HEAD_FORMAT, head)}
  log[WORTH_WRITING] = false
  return log
end

-- Finds the first entry of a window again, the one that was having left it. The newest has not.
local function advance(key, log, hint, gone)
  local first = log[hint + 2]
  local from = HEAD_BYTES + ENTRY_BYTES * (first - 1)
  local chunk = call("GETRANGE", key, from, from + ENTRY_BYTES * CHUNK - 1)
  local before, found = 0, false
  for at = 1, #chunk, ENTRY_BYTES do
    local time, total = unpack6("<I6I6", chunk, at)
    if time > gone then
      found = first + (at - 1) / ENTRY_BYTES
      log[hint], log[hint + 1] = time, before
      break
    end
    before = total
  end
  if not found then
    local entries = call("GETRANGE", key, HEAD_BYTES, -1)
    found = last_before(entries, #entries / ENTRY_BYTES, gone) + 1
    log[hint], log[hint + 1] = time_at(entries, found), total_at(entries, found - 1)
  end
  log[hint + 2] = found
  if found - first >= WORTH_ENTRIES or log[hint] - gone >= WORTH_MS then log[WORTH_WRITING] = true end
end

-- How many runs a window holds, and how long until it holds fewer.
local function use_of(key, log, window)
  local gone = now - WINDOWS[window]
  if log[NEWEST] <= gone then return 0, 0 end
  local hint = FIRST + 3 * window - 3
  if log[hint] <= gone then advance(key, log, hint, gone) end
  return log[TOTAL] - log[hint + 1], log[hint] - gone
end

-- How long until a window holds no more than so many, where it holds more and one.
local function wait_for(key, log, window, allowed)
  local entries = call("GETRANGE", key, HEAD_BYTES, -1)
  local first = log[FIRST + 3 * window - 1]
  local at = first_with(entries, first, #entries / ENTRY_BYTES, log[TOTAL], allowed)
  return time_at(entries, at) + WINDOWS[window] - now
end

local function begin_log(key, log)
  log[NEWEST], log[TOTAL], log[BYTES], log[PENDING], log[BASE] = now, 1, HEAD_BYTES + ENTRY_BYTES, WRITTEN, 0
  for hint = FIRST, WORTH_WRITING - 3, 3 do log[hint], log[hint + 1], log[hint + 2] = now, 0, 1 end
  log[WORTH_WRITING] = false
  local head = pack6(HEAD_FORMAT, unpack(log, BASE, WORTH_WRITING - 1))
  call("SET", key, head .. pack6("<I6I6", now, 1), "PX", LONGEST + HOUR)
end

local function write_total(key, log)
  if log[BYTES] == 0 then log[BYTES] = call("STRLEN", key) end
  call("SETRANGE", key, log[BYTES] - 6, pack6("<I6", log[TOTAL]))
  log[PENDING] = WRITTEN
end

-- Counts a run. What comes in the same millisecond is left for the end.
local function charge(key, log)
  local newest, total = log[NEWEST], log[TOTAL]
  if newest == now then
    log[TOTAL], log[PENDING] = total + 1, UNWRITTEN
    return
  end
  if log[PENDING] == UNWRITTEN then write_total(key, log) end
  local bytes = call("APPEND", key, pack6("<I6I6", now, total + 1))
  log[NEWEST], log[TOTAL], log[BYTES], log[PENDING] = now, total + 1, bytes, WRITTEN
  local count = (bytes - HEAD_BYTES) / ENTRY_BYTES
  -- The windows that held nothing begin with this entry.
  local window = 1
  while window <= 6 and newest <= now - WINDOWS[window] do
    local hint = FIRST + 3 * window - 3
    if count - log[hint + 2] >= WORTH_ENTRIES then log[WORTH_WRITING] = true end
    log[hint], log[hint + 1], log[hint + 2] = now, total, count
    window = window + 1
  end
  if count > MAX_ENTRIES then compact(key, log) end
  -- Once an hour is enough, as each time it is set to an hour more than is needed.
  if floor(newest / HOUR) ~= floor(now / HOUR) then call("PEXPIRE", key, LONGEST + HOUR) end
end

local function finish(key, log)
  if log[PENDING] == UNWRITTEN then write_total(key, log) end
  if log[PENDING] == WRITTEN and log[WORTH_WRITING] then
    call("SETRANGE", key, BASE_BYTES, pack6(HINTS_FORMAT, unpack(log, FIRST, WORTH_WRITING - 1)))
  end
end
`;
