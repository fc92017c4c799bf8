-- Fixed window: what was used in a window, where that begins, and (as `extra`) where it ends. See
-- src/algo/fixed_window.h.

local fixed_window = {}

local DAY = 86400000000

-- Days since the epoch of the first day of a month, counted from January of the year 0 on; years begin
-- in March here, so that the leap day comes last.
local function day_of_month(months)
  local year = floor((months - 2) / 12)
  local month = fmod(months - 2 + 12, 12)
  local era_day = 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400)
  return era_day + floor((153 * month + 2) / 5) - 719468
end

-- Months since January of the year 0 that are over at the beginning of `day`.
local function month_of_day(day)
  local months = floor((day + 719468) / 30.436875) + 2
  while day_of_month(months) > day do months = months - 1 end
  while day_of_month(months + 1) <= day do months = months + 1 end
  return months
end

-- Where the window around `time` begins and ends.
local function window_around(limit, time)
  local anchor = limit.anchor
  if anchor == 'epoch' then
    local start = time - fmod(time, limit.window)
    return start, start + limit.window
  elseif anchor == 'first_hit' then
    return time, time + limit.window
  end
  local day = div(time, DAY)
  local first, next_first
  if anchor == 'day' then
    first, next_first = day, day + 1
  elseif anchor == 'week' then
    -- The epoch is a Thursday; weeks begin on Monday.
    first = day - fmod(day + 3, 7)
    next_first = first + 7
  else
    local months = month_of_day(day)
    local length = 1
    if anchor == 'year' then
      months = months - fmod(months, 12)
      length = 12
    end
    first, next_first = day_of_month(months), day_of_month(months + length)
  end
  return max(first, 0) * DAY, next_first * DAY
end

function fixed_window.fresh(limit, now)
  return {at = now, value = 0, extra = 0, grant = 0}
end

local function move_to(limit, state, time)
  state.at, state.extra = window_around(limit, time)
end

function fixed_window.advance(limit, now, state)
  if state.value == 0 or now >= state.extra then
    state.value = 0
    move_to(limit, state, now)
    return false
  end
  if state.at - now <= CLOCK_TOLERANCE then return false end
  move_to(limit, state, now)
  return true
end

function fixed_window.left(limit, now, state)
  return limit.cap - state.value
end

function fixed_window.wait_for(limit, now, state, cost)
  return wait_until(now, state.extra)
end

function fixed_window.fresh_at(limit, state)
  if state.value == 0 then return 0 end
  return state.extra
end

function fixed_window.take(limit, state, cost)
  state.value = min(state.value + cost, MAX)
end

function fixed_window.adjust(limit, state, at, delta)
  -- What a grant paid for began no window; what is charged on top of it does.
  if limit.anchor == 'first_hit' and state.value == 0 and delta > 0 and at <= state.at and
      state.at < at + limit.window then
    move_to(limit, state, at)
  end
  -- Receipts of earlier windows are older: this one is from before the clock was set back, or the caller
  -- has none.
  local is_later = limit.anchor == 'first_hit' and delta < 0 and at > state.at
  if at ~= state.at and not is_later then return end
  state.value = max(min(state.value + delta, MAX), 0)
end

-- The window that the numbers of today make of what was used in the window of then.
function fixed_window.convert(limit, now, state)
  if now >= state.extra then
    state.value = 0
    return false
  end
  local seen = max(now, state.at)
  if limit.anchor == 'first_hit' and seen < state.at + limit.window then
    state.extra = state.at + limit.window
  else
    move_to(limit, state, seen)
  end
  return false
end

function fixed_window.delay(limit, state)
  return 0
end
