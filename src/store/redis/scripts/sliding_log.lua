-- Sliding window log: an entry "at:<cost>" for each moment at which something was taken. See
-- src/algo/sliding_log.h.

local sliding_log = {set = 'log'}

-- Past so many entries beyond the limit, which only forced charges make, they are merged.
local FORCED_ENTRIES = 4096

function sliding_log.fresh(limit, now)
  return sorted_set.fresh()
end

function sliding_log.convert(limit, now, state)
  return false
end

function sliding_log.advance(limit, now, state)
  state.at = now
  state.newest = state.key and sorted_set.newest(state)
  local set_back = false
  if state.newest and now < state.newest then
    if state.newest - now <= CLOCK_TOLERANCE then
      state.at = state.newest
    else
      set_back = true
    end
  end
  sorted_set.leave_out(state, state.at - limit.window)
  return set_back
end

function sliding_log.left(limit, now, state)
  return limit.cap - state.value
end

function sliding_log.wait_for(limit, now, state, cost)
  local missing = cost - (limit.cap - state.value)
  return wait_until(now, min(sorted_set.score_at(state, missing), state.at) + limit.window)
end

function sliding_log.fresh_at(limit, state)
  if state.value == 0 then return 0 end
  return min(state.newest, state.at) + limit.window
end

function sliding_log.delay(limit, state)
  return 0
end

local function add_entry(state, at, cost)
  sorted_set.add(state, 'log', at, text(at), cost)
end

-- What was taken at a moment; 0 if there is no entry.
local function taken_at(state, at)
  local member = at > state.over and redis.call('ZRANGEBYSCORE', state.key, text(at), text(at))[1]
  return member and cost_of(member) or 0
end

-- Adds to the entry of a moment, if it is there, or makes one.
local function add_to(state, at, old, change)
  if old > 0 then
    sorted_set.replace(state, at, text(at), old, old + change)
  elseif change > 0 then
    add_entry(state, at, change)
  end
end

-- Drops what is over. What was written before the clock was set back counts as taken now.
function sliding_log.commit(limit, state)
  sorted_set.forget(state, 'log')
  if state.newest and state.newest > state.at then
    sorted_set.start_over(state, 'log')
    local _, moved = scan(state, 0, state.at - 1, nil, math.huge)
    redis.call('ZREMRANGEBYSCORE', state.key, text(state.at), '+inf')
    state.total, state.value = state.total - moved, state.value - moved
    if moved > 0 then add_entry(state, state.at, moved) end
    state.newest = state.at
  end
  if state.value == 0 then state.newest = nil end
end

local function holds_most_entries(limit, state)
  local most = limit.cap + FORCED_ENTRIES
  return state.value >= most and sorted_set.count(state) >= most
end

function sliding_log.take(limit, state, cost)
  local counted = min(cost, MAX - state.value)
  if counted == 0 then return end
  local at, newest = state.at, state.newest
  local old = newest == at and taken_at(state, at) or 0
  if newest and newest ~= at and holds_most_entries(limit, state) then
    local merged = taken_at(state, newest)
    sorted_set.remove(state, 'log', newest, text(newest), merged)
    counted = counted + merged
  end
  add_to(state, at, old, counted)
  state.newest = at
end

function sliding_log.adjust(limit, state, at, delta)
  local old = taken_at(state, at)
  -- What a grant paid for left no entry; what is charged on top of it must.
  local counts = old > 0 or (delta > 0 and at <= state.at and state.at < at + limit.window)
  if not counts then return end
  if old == 0 and holds_most_entries(limit, state) then
    local later = redis.call('ZRANGEBYSCORE', state.key, text(at), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    local other = tonumber(later) or state.newest
    old = taken_at(state, other)
    if other < at then
      -- The latest entry, which moves on.
      sorted_set.remove(state, 'log', other, text(other), old)
      add_entry(state, at, old)
    else
      at = other
    end
  end
  add_to(state, at, old, max(min(delta, MAX - state.value), -old))
  state.newest = sorted_set.newest(state)
end
