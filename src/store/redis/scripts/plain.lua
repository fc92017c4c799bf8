-- Lists of plain checks: buckets and windows (but for calendar ones), enforced, with nothing particular
-- about them. Nearly all lists are, so they are answered before the rest of the script is even set up. The
-- answer is what each check found; what follows from it, waits and the like, the caller works out by the
-- same rules. Whatever else comes up (a debt, a grant, a clock set back, changed numbers, a value that is
-- not ours) leaves the whole list to the rest of the script: nothing is written until all of it is evaluated.

local VALUE = '<c2ddddd'  -- Kind, value, at, extra, fresh, grant: see README.md.
local VALUE_BYTES = 42

local function plain_limit(spec)
  local kind, rest = string.match(spec, '^(%a),(.*)$')
  if kind == 't' or kind == 'l' then
    local cap, num, den, interval = string.match(rest, '^(%d+),(%d+),(%d+),(%d+)$')
    cap, den, interval = tonumber(cap), tonumber(den), tonumber(interval)
    return {kind = '1' .. kind, is_bucket = true, cap = cap, num = tonumber(num), den = den, full = cap * den,
      interval = interval, step = div(now, interval)}
  end
  if kind ~= 'f' and kind ~= 'w' then return nil end
  local cap, window, anchor = string.match(rest, '^(%d+),(%d+),?([%a_]*)$')
  if anchor ~= '' and anchor ~= 'epoch' and anchor ~= 'first_hit' then return nil end
  cap, window = tonumber(cap), tonumber(window)
  local start = anchor == 'first_hit' and now or now - fmod(now, window)
  return {kind = '1' .. kind, cap = cap, den = 1, full = cap, window = window, start = start,
    follows_hit = anchor == 'first_hit', is_counter = kind == 'w'}
end

-- What a key has left under a limit (in the limit's units) and where its window begins; for a counter also
-- what was used in the window before, and what that still weighs. Nil: not plain.
local function plain_state(limit, key, text)
  local full = limit.full
  local fresh_state = {limit = limit, left = full, at = limit.start, previous = 0, weight = 0}
  if not text then
    -- MGET does not distinguish a missing key from one of another type.
    return not redis.pcall('GET', key) and fresh_state or nil
  end
  if #text ~= (limit.is_counter and VALUE_BYTES + 8 or VALUE_BYTES) then return nil end
  local kind, value, at, extra, fresh, grant, place = struct.unpack(VALUE, text)
  if kind ~= limit.kind or grant ~= 0 or not (value >= 0 and at <= now) then return nil end
  if now >= fresh then return fresh_state end
  if limit.is_bucket then
    if extra ~= limit.den then return nil end
    local arrived = (limit.step - div(at, limit.interval)) * limit.num
    if arrived < full - value then fresh_state.left = value + arrived end
    return fresh_state
  end
  local window = limit.window
  if limit.is_counter then
    if extra ~= window then return nil end
    local previous = struct.unpack('<d', text, place)
    if at ~= limit.start then
      -- One window has ended; if two had, the key would be fresh.
      previous, value = value, 0
    end
    local weighed = previous * (window - (now - limit.start))
    if not (weighed < MAX) then return nil end
    local weight = div(weighed, window)
    if weight == 0 then previous = 0 end
    fresh_state.previous, fresh_state.weight = previous, weight
    fresh_state.left = full - weight - value
    return fresh_state
  end
  if extra ~= at + window or (not limit.follows_hit and at ~= limit.start) then return nil end
  fresh_state.left, fresh_state.at = full - value, at
  return fresh_state
end

-- The moment from which on a key is as if never used.
local function plain_fresh_at(state)
  local limit = state.limit
  if limit.is_bucket then
    return (limit.step + ceil_div(limit.full - state.left, limit.num)) * limit.interval
  end
  local window = limit.window
  if not limit.is_counter then return state.at + window end
  -- In the window after this one, what is used in it weighs less and less: until when at least 1?
  local used = limit.full - state.weight - state.left
  return state.at + window + window - (ceil_div(window, used) - 1)
end

local function plain_write(key, state)
  local limit = state.limit
  local fresh = plain_fresh_at(state)
  if limit.is_bucket then
    set_until(key, struct.pack(VALUE, limit.kind, state.left, now, limit.den, fresh, 0), fresh)
  elseif limit.is_counter then
    local used = limit.full - state.weight - state.left
    local value = struct.pack(VALUE .. 'd', limit.kind, used, state.at, limit.window, fresh, 0, state.previous)
    set_until(key, value, fresh)
  else
    local used = limit.full - state.left
    set_until(key, struct.pack(VALUE, limit.kind, used, state.at, fresh, fresh, 0), fresh)
  end
end

local function plain_checks()
  local keys, arguments = KEYS, ARGV
  local limits = {}  -- By how they are written.
  local states = {}  -- By key.
  local answers, last = {now}, 1
  local texts
  local next_key, next_argument = 1, 2
  while arguments[next_argument] do
    local uses, times = string.match(arguments[next_argument], '^C(%d+)%*(%d+)$')
    if not uses then return nil end
    uses = tonumber(uses)
    local run_limits, costs = {}, {}
    for i = 1, uses do
      local spec, cost = arguments[next_argument + 1], tonumber(arguments[next_argument + 2])
      if arguments[next_argument + 3] ~= '' or cost < 1 then return nil end
      local limit = limits[spec] or plain_limit(spec)
      if not limit then return nil end
      limits[spec], run_limits[i] = limit, limit
      costs[i] = cost <= limit.cap and cost * limit.den or MAX + 2  -- More than there ever is.
      next_argument = next_argument + 3
    end
    next_argument = next_argument + 1
    texts = texts or redis.call('MGET', unpack(keys))
    for _ = 1, tonumber(times) do
      local call = next_key
      local allowed = true
      for i = 1, uses do
        local key, limit = keys[next_key], run_limits[i]
        local state = states[key]
        if not state then
          state = plain_state(limit, key, texts[next_key])
          if not state then return nil end
          states[key] = state
        elseif state.limit ~= limit or state.call == call then
          return nil
        end
        state.call = call
        local left = state.left
        if costs[i] > left then allowed = false end
        last = last + 1
        if limit.is_bucket then
          answers[last] = left
        else
          answers[last] = limit.full - state.weight - left
          last = last + 1
          answers[last] = limit.is_counter and state.previous or state.at
        end
        next_key = next_key + 1
      end
      if allowed then
        for i = 1, uses do
          local state = states[keys[call + i - 1]]
          state.left = state.left - costs[i]
          state.taken = true
        end
      end
    end
  end
  for key, state in pairs(states) do
    if state.taken then plain_write(key, state) end
  end
  return answers
end

local plain_answers = plain_checks()
if plain_answers then return plain_answers end
