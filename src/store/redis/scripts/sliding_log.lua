-- Sliding window log: an entry "at:<cost>" for each moment at which something was taken. See
-- src/algo/sliding_log.h.

local sliding_log = {set = 'log'}

-- Past so many entries beyond the limit, which only forced charges make, they are merged.
local FORCED_ENTRIES = 4096

function sliding_log.fresh(limit, now)
  return {value = 0, grant = 0}
end

function sliding_log.convert(limit, now, state)
  return false
end

function sliding_log.advance(limit, now, state)
  state.at = now
  state.newest = state.key and sorted_set.newest(state.key)
  state.over = now - limit.window  -- Entries up to this moment no longer count.
  if not state.newest then return false end
  local set_back = false
  if now < state.newest then
    if state.newest - now <= CLOCK_TOLERANCE then
      state.at = state.newest
      state.over = state.newest - limit.window
    else
      set_back = true
    end
  end
  state.forgotten = sorted_set.cost_up_to(state.key, state.over)
  state.value = state.value - state.forgotten
  return set_back
end

function sliding_log.left(limit, now, state)
  return limit.cap - state.value
end

function sliding_log.wait_for(limit, now, state, cost)
  local missing = cost - (limit.cap - state.value)
  local at = sorted_set.score_at(state.key, state.over, missing)
  return wait_until(now, min(at, state.at) + limit.window)
end

function sliding_log.fresh_at(limit, state)
  if state.value == 0 then return 0 end
  return min(state.newest, state.at) + limit.window
end

function sliding_log.delay(limit, state)
  return 0
end

local function put(state, at, cost)
  redis.call('ZADD', state.key, text(at), text(at) .. ':' .. text(cost))
end

-- Takes away the entries from one score to another, and returns what they cost.
local function take_away(state, low, high)
  local cost = 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', state.key, low, high)) do
    cost = cost + cost_of(member)
    redis.call('ZREM', state.key, member)
  end
  return cost
end

-- Drops what is over. What was written before the clock was set back counts as taken now.
function sliding_log.commit(limit, state)
  sorted_set.forget(state, state.over)
  if state.newest and state.newest > state.at then
    local moved = take_away(state, text(state.at), '+inf')
    if moved > 0 then put(state, state.at, moved) end
  end
  state.newest = sorted_set.newest(state.key)
end

local function holds_most_entries(limit, state)
  return redis.call('ZCOUNT', state.key, 0, '+inf') >= limit.cap + FORCED_ENTRIES
end

function sliding_log.take(limit, state, cost)
  local counted = min(cost, MAX - state.value)
  if counted == 0 then return end
  state.value = state.value + counted
  local merged = counted
  if state.newest then
    if state.newest == state.at or holds_most_entries(limit, state) then
      merged = merged + take_away(state, text(state.newest), text(state.newest))
    end
  end
  put(state, state.at, merged)
  state.newest = state.at
end

function sliding_log.adjust(limit, state, at, delta)
  local old = take_away(state, text(at), text(at))
  -- What a grant paid for left no entry; what is charged on top of it must.
  local counts = old > 0 or (delta > 0 and at <= state.at and state.at < at + limit.window)
  if counts and old == 0 and holds_most_entries(limit, state) then
    local later = redis.call('ZRANGEBYSCORE', state.key, text(at), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    local other = tonumber(later) or state.newest
    old = take_away(state, text(other), text(other))
    at = max(at, other)
  end
  if counts then
    local change = max(min(delta, MAX - state.value), -old)
    if old + change > 0 then put(state, at, old + change) end
    state.value = state.value + change
  end
  state.newest = sorted_set.newest(state.key)
end
