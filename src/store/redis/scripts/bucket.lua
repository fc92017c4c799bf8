-- Token and leaky bucket: what is left, in 1/den tokens, and when. See src/algo/bucket.h.

local LOWEST = -MAX

local bucket = {}

function bucket.fresh(limit, now)
  return {at = now, value = limit.cap * limit.den, extra = limit.den, grant = 0}
end

local function steps_until(limit, time)
  if limit.interval == 1 then return time end
  return div(time, limit.interval)
end

-- How many refills a debt takes to pay off, and what is left over then. In two parts, because a debt and
-- a cap together may be more than 2^53.
local function pay_off(limit, debt)
  local over = fmod(debt, limit.num)
  if over == 0 then return debt / limit.num, 0 end
  return (debt - over) / limit.num + 1, limit.num - over
end

function bucket.advance(limit, now, state)
  local full = limit.cap * limit.den
  if now < state.at then
    -- A full bucket holds no information, so it has no time of its own to go on from.
    local is_full = state.value == full
    if not is_full and state.at - now <= CLOCK_TOLERANCE then return false end
    state.at = now
    return not is_full
  end
  local steps = steps_until(limit, now) - steps_until(limit, state.at)
  state.at = now
  if state.value < 0 then
    local needed, over = pay_off(limit, -state.value)
    if steps < needed then
      state.value = state.value + steps * limit.num
      return false
    end
    steps = steps - needed
    state.value = min(over, full)
  end
  local arrived = steps * limit.num
  if arrived >= full - state.value then
    state.value = full
  else
    state.value = state.value + arrived
  end
  return false
end

function bucket.left(limit, now, state)
  if state.value >= 0 then return div(state.value, limit.den) end
  return -ceil_div(-state.value, limit.den)
end

-- The moment at which the bucket holds `target` units.
local function arrival_of(limit, state, target)
  if state.value >= target then return state.at end
  local steps = 0
  local value = state.value
  if value < 0 then steps, value = pay_off(limit, -value) end
  if value < target then steps = steps + ceil_div(target - value, limit.num) end
  if limit.interval == 1 then return state.at + steps end
  return (steps_until(limit, state.at) + steps) * limit.interval
end

function bucket.wait_for(limit, now, state, cost)
  return wait_until(now, arrival_of(limit, state, cost * limit.den))
end

function bucket.fresh_at(limit, state)
  local full = limit.cap * limit.den
  if state.value >= full then return 0 end
  return arrival_of(limit, state, full)
end

-- Leaky bucket: how long a call that is let in now waits for those before it.
function bucket.delay(limit, state)
  if limit.kind ~= 'l' then return 0 end
  if state.value >= 0 then return ceil_div(limit.cap * limit.den - state.value, limit.num) end
  local steps, over = pay_off(limit, -state.value)
  local full = limit.cap * limit.den
  return min(steps + (over < full and ceil_div(full - over, limit.num) or 0), MAX_WAIT)
end

-- What is taken or given is counted in halves: each is then exact, or so large that nothing is left of
-- the difference.
local function halves(cost)
  local half = floor(cost / 2)
  return half, cost - half
end

function bucket.take(limit, state, cost)
  local first, second = halves(cost)
  state.value = max(state.value - first * limit.den, LOWEST)
  state.value = max(state.value - second * limit.den, LOWEST)
end

function bucket.adjust(limit, state, at, delta)
  if delta >= 0 then return bucket.take(limit, state, delta) end
  local full = limit.cap * limit.den
  local first, second = halves(-delta)
  state.value = min(state.value + first * limit.den, full)
  state.value = min(state.value + second * limit.den, full)
end

-- What is left, in the units of another rate; rounded down.
function bucket.convert(limit, now, state)
  local old, new = state.extra, limit.den
  local full = limit.cap * new
  state.extra = new
  if old == new then
    state.value = min(state.value, full)
  elseif state.value >= 0 then
    if div(state.value, old) >= limit.cap then
      state.value = full
    else
      state.value = min(mul_div(state.value, new, old), full)
    end
  elseif product_at_most(MAX, old, -state.value, new) then
    state.value = LOWEST
  else
    state.value = max(-mul_div_ceil(-state.value, new, old), LOWEST)
  end
  return false
end
