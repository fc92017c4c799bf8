-- Concurrency: an entry "<slot>:<cost>" for each slot, by its expiry. See src/algo/concurrency.h.

local concurrency = {set = 'slots'}

function concurrency.fresh(limit, now)
  return {value = 0, grant = 0}
end

function concurrency.convert(limit, now, state)
  return false
end

function concurrency.advance(limit, now, state)
  state.at = now
  state.newest = state.key and sorted_set.newest(state.key)
  if not state.newest then return false end
  state.forgotten = sorted_set.cost_up_to(state.key, now)
  state.value = state.value - state.forgotten
  -- A slot that outlives a new one by more than clocks differ was taken before the clock was set back.
  local latest = now + limit.window
  if state.newest - latest <= CLOCK_TOLERANCE then return false end
  state.latest = latest
  return true
end

local function expiry(state, score)
  return state.latest and min(score, state.latest) or score
end

function concurrency.left(limit, now, state)
  return limit.cap - state.value
end

function concurrency.wait_for(limit, now, state, cost)
  local missing = cost - (limit.cap - state.value)
  return wait_until(now, expiry(state, sorted_set.score_at(state.key, now, missing)))
end

function concurrency.fresh_at(limit, state)
  if state.value == 0 then return 0 end
  return expiry(state, state.newest)
end

function concurrency.delay(limit, state)
  return 0
end

function concurrency.commit(limit, state)
  sorted_set.forget(state, state.at)
  if state.latest then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', state.key, '(' .. text(state.latest), '+inf')) do
      redis.call('ZADD', state.key, text(state.latest), member)
    end
    state.latest = nil
  end
  state.newest = sorted_set.newest(state.key)
end

local function insert(limit, state, cost, slot)
  local expires = state.at + limit.window
  redis.call('ZADD', state.key, text(expires), slot .. ':' .. text(cost))
  state.value = state.value + cost
  state.newest = max(state.newest or 0, expires)
end

function concurrency.take(limit, state, cost, slot)
  insert(limit, state, min(cost, MAX - state.value), slot)
end

-- The member of a slot that is held. Nearly all slots cost one; others are looked for.
local function find(state, slot)
  if not state.key then return nil end
  local member = slot .. ':1'
  local score = redis.call('ZSCORE', state.key, member)
  if score then return tonumber(score) > state.at and member or nil end
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', state.key, '(' .. text(state.at), '+inf')) do
    if string.sub(other, 1, #slot + 1) == slot .. ':' then return other end
  end
  return nil
end

function concurrency.holds(state, slot)
  return find(state, slot) ~= nil
end

function concurrency.release(limit, state, slot)
  local member = find(state, slot)
  if not member then return nil end
  redis.call('ZREM', state.key, member)
  local cost = cost_of(member)
  state.value = state.value - cost
  state.newest = sorted_set.newest(state.key)
  return cost
end

function concurrency.renew(limit, state, slot)
  local cost = concurrency.release(limit, state, slot)
  if cost then insert(limit, state, cost, slot) end
  return cost
end
