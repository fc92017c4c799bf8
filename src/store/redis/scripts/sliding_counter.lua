-- Sliding window counter: what was used in this window and in the one before, and (as `extra`) how long
-- a window is. See src/algo/sliding_counter.h.

local sliding_counter = {}

function sliding_counter.fresh(limit, now)
  return {at = now - fmod(now, limit.window), value = 0, previous = 0, extra = limit.window, grant = 0}
end

-- What the window before still weighs: floor(previous * (1 - elapsed / window)).
local function carried(window, now, state)
  local elapsed = max(now - state.at, 0)
  return mul_div(state.previous, window - elapsed, window)
end

-- The first time into a window at which what `previous` still weighs is at most `room`.
local function decay_time(window, previous, room)
  if previous <= room then return 0 end
  return window - (mul_div_ceil(room + 1, window, previous) - 1)
end

local function roll(window, now, state)
  local start = now - fmod(now, window)
  if start < state.at and (state.value > 0 or state.previous > 0) then
    if state.at - now <= CLOCK_TOLERANCE then return false end
    state.at = start
    return true
  end
  if start > state.at then
    state.previous = start - state.at == window and state.value or 0
    state.value = 0
  end
  state.at = start
  return false
end

function sliding_counter.advance(limit, now, state)
  local set_back = roll(limit.window, now, state)
  -- What weighs nothing any more never will again.
  if carried(limit.window, now, state) == 0 then state.previous = 0 end
  return set_back
end

function sliding_counter.left(limit, now, state)
  return limit.cap - carried(limit.window, now, state) - state.value
end

function sliding_counter.wait_for(limit, now, state, cost)
  local room = limit.cap - state.value - cost
  if room >= 0 then
    return wait_until(now, state.at + decay_time(limit.window, state.previous, room))
  end
  -- This window alone is too full: as the next one's `previous` it must decay far enough.
  return wait_until(now, state.at + limit.window + decay_time(limit.window, state.value, limit.cap - cost))
end

function sliding_counter.fresh_at(limit, state)
  if state.value > 0 then
    return state.at + limit.window + decay_time(limit.window, state.value, 0)
  end
  if state.previous == 0 then return 0 end
  return state.at + decay_time(limit.window, state.previous, 0)
end

function sliding_counter.take(limit, state, cost)
  state.value = min(state.value + cost, MAX)
end

function sliding_counter.adjust(limit, state, at, delta)
  if at == state.at then
    state.value = max(min(state.value + delta, MAX), 0)
  elseif at == state.at - limit.window then
    state.previous = max(min(state.previous + delta, MAX), 0)
  end
end

function sliding_counter.convert(limit, now, state)
  if state.extra == limit.window then return false end
  local set_back = sliding_counter.advance({window = state.extra}, now, state)
  state.value = min(state.value + carried(state.extra, now, state), MAX)
  state.previous = 0
  local seen = max(now, state.at)
  state.at = seen - fmod(seen, limit.window)
  state.extra = limit.window
  return set_back
end

function sliding_counter.delay(limit, state)
  return 0
end
