-- Concurrency: an entry "<slot>:<cost>" for each slot, by its expiry. See src/algo/concurrency.h.

local concurrency = {set = 'slots'}

function concurrency.fresh(limit, now)
  return sorted_set.fresh()
end

function concurrency.convert(limit, now, state)
  return false
end

function concurrency.advance(limit, now, state)
  state.at = now
  state.newest = state.key and sorted_set.newest(state)
  sorted_set.leave_out(state, now)
  if not state.newest then return false end
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
  return wait_until(now, expiry(state, sorted_set.score_at(state, missing)))
end

function concurrency.fresh_at(limit, state)
  if state.value == 0 then return 0 end
  return expiry(state, state.newest)
end

function concurrency.delay(limit, state)
  return 0
end

-- Gives all slots that live longer than that another expiry.
local function cut_lives(state, latest)
  sorted_set.start_over(state, 'slots')
  local from = '(' .. text(latest)
  while true do
    local members = redis.call('ZRANGEBYSCORE', state.key, from, '+inf', 'LIMIT', 0, 500)
    local scores_and_members = {}
    for i, member in ipairs(members) do
      scores_and_members[2 * i - 1], scores_and_members[2 * i] = text(latest), member
    end
    if #members > 0 then redis.call('ZADD', state.key, unpack(scores_and_members)) end
    if #members < 500 then return end
  end
end

function concurrency.commit(limit, state)
  sorted_set.forget(state, 'slots')
  if state.latest then
    cut_lives(state, state.latest)
    state.newest = state.latest
    state.latest = nil
  end
  if state.value == 0 then state.newest = nil end
end

-- What is known of a slot, held or over: {moment, cost}.
local function look_up(state, slot)
  local score = redis.call('ZSCORE', state.key, slot .. ':1')
  if score then return {moment = tonumber(score), cost = 1} end
  local cost = redis.call('ZSCORE', state.key, '@' .. slot)
  score = cost and redis.call('ZSCORE', state.key, slot .. ':' .. text(amount_of(cost)))
  if score then return {moment = tonumber(score), cost = amount_of(cost)} end
  return nil
end

-- The same of a slot that may lack its "@", because a program took it that does not write that.
local function search(state, slot)
  local from = max(state.over, state.closed or -1)
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', state.key, '(' .. text(from), '+inf')) do
    if string.sub(other, 1, #slot + 1) == slot .. ':' then
      return {moment = tonumber(redis.call('ZSCORE', state.key, other)), cost = cost_of(other)}
    end
  end
  return nil
end

local function find(state, slot)
  if not state.key then return nil end
  local found = look_up(state, slot)
  if found and found.moment > state.over then return found end
  return not state.complete and search(state, slot) or nil
end

function concurrency.holds(state, slot)
  return find(state, slot) ~= nil
end

local function insert(limit, state, cost, slot)
  local expires = state.at + limit.window
  sorted_set.add(state, 'slots', expires, slot, cost)
  state.newest = max(state.newest or 0, expires)
end

-- `is_new`: the slot's id was never used before.
function concurrency.take(limit, state, cost, slot, is_new)
  local over = not is_new and state.dead > 0 and look_up(state, slot)
  if over then
    -- One entry for each slot: the one that is over but still there would be taken for this one.
    state.value, state.dead = state.value + over.cost, state.dead - over.cost
    sorted_set.remove(state, 'slots', over.moment, slot, over.cost)
  end
  insert(limit, state, min(cost, MAX - state.value), slot)
end

function concurrency.release(limit, state, slot)
  local found = find(state, slot)
  if not found then return nil end
  sorted_set.remove(state, 'slots', found.moment, slot, found.cost)
  state.newest = sorted_set.newest(state)
  return found.cost
end

function concurrency.renew(limit, state, slot)
  local cost = concurrency.release(limit, state, slot)
  if cost then insert(limit, state, cost, slot) end
  return cost
end
