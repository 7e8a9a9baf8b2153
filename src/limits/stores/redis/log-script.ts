/** The numbers that the names in the log's script stand for. */
export const LOG_CONSTANTS = {
  // The same as in cell-log.ts.
  EXACT_ENTRIES: 128,
  MAX_ENTRIES: 512,
  CELLS: 64,
  LONGEST: 2_678_400_000,
  HOUR: 3_600_000,
  // The bytes of the base total (all runs before the first entry), of the whole head, and of an entry.
  BASE_BYTES: 6,
  HEAD_BYTES: 90,
  ENTRY_BYTES: 12,
  // The indexes in a log's array. BYTES is 0 until it is known. The hint of each window has three numbers, from FIRST on.
  NEWEST: 1,
  TOTAL: 2,
  BYTES: 3,
  PENDING: 4,
  BASE: 5,
  FIRST: 6,
  WORTH_WRITING: 24,
  // The values of PENDING: nothing was charged; the charge is written; the newest total is not written.
  UNCHARGED: 0,
  WRITTEN: 1,
  UNWRITTEN: 2,
  // CHUNK is how many entries the script reads to update a hint before it reads all. It writes a hint only if the hint moved
  // by WORTH_ENTRIES entries, or stays valid for WORTH_MS milliseconds. Otherwise it would write a hint at each run.
  CHUNK: 16,
  WORTH_ENTRIES: 8,
  WORTH_MS: 100,
  HINTS_FORMAT: `"<I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2"`,
  HEAD_FORMAT: `"<I6I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2I6I6I2"`,
} as const;

/** Replaces names by numbers. Lua would create a local again at each call, and again for each function that uses it. */
export function inlined(script: string, constants: Readonly<Record<string, number | string>>): string {
  return script.replaceAll(/\b[A-Z][A-Z_]+\b/g, (name) => String(constants[name] ?? name));
}

/**
 * The log of one key inside Redis, in Lua: like `CellLog`, on a packed string. Numbers are little-endian.
 *
 *   the total of all dropped entries (6 bytes)
 *   a hint for each of the six windows: the time of the first entry in the window (6), the total before it (6), and the
 *   index of that entry (2)
 *   the entries, oldest first: a time in milliseconds (6), and the total up to and including that time (6)
 *
 * The slowest step is the conversion of a Redis string to a Lua string, because Lua hashes each byte. So a decision reads
 * only the head and the newest entry, and a few more entries if a hint is out of date. Time never goes back, so a hint
 * never does either. An old hint is therefore a valid point to start from.
 *
 * A charge appends 12 bytes, or overwrites 6 bytes in the same millisecond. Replicas and the append-only file receive only
 * these bytes. Occasionally the script also writes a head, or the whole string after compaction.
 *
 * While the script uses a log, the log is an array of numbers with the indexes above. The script needs `now`.
 */
export const LOG_SCRIPT = `
local WINDOWS = {1000, 60000, 3600000, 86400000, 604800000, 2678400000}
local call, floor, sub = redis.call, math.floor, string.sub
local unpack6, pack6 = struct.unpack, struct.pack

local function time_at(entries, at) return (unpack6("<I6", entries, ENTRY_BYTES * at - 11)) end
local function total_at(entries, at) return (unpack6("<I6", entries, ENTRY_BYTES * at - 5)) end

-- Returns the index of the newest entry that is not later than a time; 0 if there is none.
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

-- Returns the index of the first entry after which at most the allowed number of runs follow.
local function first_with(entries, low, high, total, allowed)
  while low < high do
    local middle = floor((low + high) / 2)
    if total - total_at(entries, middle) <= allowed then high = middle else low = middle + 1 end
  end
  return low
end

-- Drops entries that no window holds, and merges neighbours in windows with too many entries.
local function compacted(entries, count)
  local expired, crowded = {}, {}
  for window = 1, 6 do
    expired[window] = last_before(entries, count, now - WINDOWS[window])
    crowded[window] = count - expired[window] > EXACT_ENTRIES
  end
  local parts = {}
  local window, kept_from = 6, expired[6] + 1
  local length = LONGEST
  local time = time_at(entries, kept_from)
  for at = kept_from, count - 1 do
    -- The shortest window that still holds this entry. Each longer window holds it too.
    while window > 1 and expired[window - 1] < at do
      window = window - 1
      length = WINDOWS[window]
    end
    local next_time = time_at(entries, at + 1)
    -- An entry merged across the edge of a shorter window would count in that window again. The cells of each window lie
    -- inside those of every longer window, except a week's in a month's, so the script compares both.
    if crowded[window] and not (window > 1 and expired[window - 1] == at)
      and floor(time * CELLS / length) == floor(next_time * CELLS / length)
      and floor(time * CELLS / LONGEST) == floor(next_time * CELLS / LONGEST) then
      if kept_from < at then parts[#parts + 1] = sub(entries, ENTRY_BYTES * kept_from - 11, ENTRY_BYTES * at - 12) end
      kept_from = at + 1
    end
    time = next_time
  end
  parts[#parts + 1] = sub(entries, ENTRY_BYTES * kept_from - 11)
  return table.concat(parts), expired[6] > 0 and total_at(entries, expired[6])
end

local function compact(key, log)
  local entries, base = compacted(call("GETRANGE", key, HEAD_BYTES, -1), (log[BYTES] - HEAD_BYTES) / ENTRY_BYTES)
  if base then log[BASE] = base end
  local count = #entries / ENTRY_BYTES
  for window = 1, 6 do
    local expired = last_before(entries, count, now - WINDOWS[window])
    local hint = FIRST + 3 * window - 3
    log[hint], log[hint + 2] = time_at(entries, expired + 1), expired + 1
    log[hint + 1] = expired > 0 and total_at(entries, expired) or log[BASE]
  end
  call("SET", key, pack6(HEAD_FORMAT, unpack(log, BASE, WORTH_WRITING - 1)) .. entries, "KEEPTTL")
  log[BYTES], log[WORTH_WRITING] = HEAD_BYTES + #entries, false
end

-- Reads a stored log. A new log has no entry.
local function read_log(key)
  local head = call("GETRANGE", key, "0", "89")
  if head == "" then return {0, 0, 0, UNCHARGED} end
  local newest, total = unpack6("<I6I6", call("GETRANGE", key, "-12", "-1"))
  local log = {newest, total, 0, UNCHARGED, unpack6(HEAD_FORMAT, head)}
  log[WORTH_WRITING] = false
  return log
end

-- Finds the first entry of a window again, after the previous first entry has expired. The newest entry has not expired.
local function advance(key, log, hint, cutoff)
  local first = log[hint + 2]
  local from = HEAD_BYTES + ENTRY_BYTES * (first - 1)
  local chunk = call("GETRANGE", key, from, from + ENTRY_BYTES * CHUNK - 1)
  local before, found = 0, false
  for at = 1, #chunk, ENTRY_BYTES do
    local time, total = unpack6("<I6I6", chunk, at)
    if time > cutoff then
      found = first + (at - 1) / ENTRY_BYTES
      log[hint], log[hint + 1] = time, before
      break
    end
    before = total
  end
  if not found then
    local entries = call("GETRANGE", key, HEAD_BYTES, -1)
    found = last_before(entries, #entries / ENTRY_BYTES, cutoff) + 1
    log[hint], log[hint + 1] = time_at(entries, found), total_at(entries, found - 1)
  end
  log[hint + 2] = found
  if found - first >= WORTH_ENTRIES or log[hint] - cutoff >= WORTH_MS then log[WORTH_WRITING] = true end
end

-- Returns how many runs a window holds, and the time until it holds fewer.
local function use_of(key, log, window)
  local cutoff = now - WINDOWS[window]
  if log[NEWEST] <= cutoff then return 0, 0 end
  local hint = FIRST + 3 * window - 3
  if log[hint] <= cutoff then advance(key, log, hint, cutoff) end
  return log[TOTAL] - log[hint + 1], log[hint] - cutoff
end

-- Returns the time until a window holds at most the allowed number of runs. It must hold more now.
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

-- Counts a run. The total of further runs in the same millisecond is written at the end.
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
  -- The windows that were empty begin with this entry.
  local window = 1
  while window <= 6 and newest <= now - WINDOWS[window] do
    local hint = FIRST + 3 * window - 3
    if count - log[hint + 2] >= WORTH_ENTRIES then log[WORTH_WRITING] = true end
    log[hint], log[hint + 1], log[hint + 2] = now, total, count
    window = window + 1
  end
  if count > MAX_ENTRIES then compact(key, log) end
  -- Once an hour is enough, because the expiry is always an hour longer than needed.
  if floor(newest / HOUR) ~= floor(now / HOUR) then call("PEXPIRE", key, LONGEST + HOUR) end
end

local function finish(key, log)
  if log[PENDING] == UNWRITTEN then write_total(key, log) end
  if log[PENDING] == WRITTEN and log[WORTH_WRITING] then
    call("SETRANGE", key, BASE_BYTES, pack6(HINTS_FORMAT, unpack(log, FIRST, WORTH_WRITING - 1)))
  end
end
`;
