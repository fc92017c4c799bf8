-- What the two algorithms that remember every call share: entries in a sorted set, by time, with members
-- "<name>:<cost>". Beside them stands what would take long to find out: how much the entries use (member
-- "log" or "slots", which also says whose set it is), from when on the key is as if never used ("fresh"),
-- and what is left of grants ("grant"). The scores of those are below zero, where no time is.

local sorted_set = {}

-- Somebody else's entry makes the whole set somebody else's.
local function cost_of(member)
  return tonumber(string.match(member, ':(%d+)$')) or error({foreign = member})
end

-- Nothing is a little below zero.
local function score_of(amount)
  return amount > 0 and '-' .. text(amount) or '-0.5'
end

local function amount_of(score)
  return score and floor(-tonumber(score)) or 0
end

function sorted_set.load(key, kind)
  local used = redis.call('ZSCORE', key, kind)
  if not used or tonumber(used) >= 0 then return nil end
  return {
    key = key,
    value = amount_of(used),
    fresh = amount_of(redis.call('ZSCORE', key, 'fresh')),
    grant = amount_of(redis.call('ZSCORE', key, 'grant')),
  }
end

-- The latest entry's score, or nil.
function sorted_set.newest(key)
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  local score = tonumber(last[2])
  if score and score >= 0 then return score end
  return nil
end

function sorted_set.cost_up_to(key, last)
  local sum = 0
  if last < 0 then return sum end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, 0, text(last))) do
    sum = sum + cost_of(member)
  end
  return sum
end

-- Removes the entries up to `last`, of which `state.forgotten` says what they cost. If there are none
-- it must not even try: without memory, Redis refuses a script's first write only, and removing counts.
function sorted_set.forget(state, last)
  if (state.forgotten or 0) > 0 then redis.call('ZREMRANGEBYSCORE', state.key, 0, text(last)) end
end

-- The score of the entry at which, oldest first from above `low`, `missing` has been added up.
function sorted_set.score_at(key, low, missing)
  local from = low < 0 and 0 or '(' .. text(low)
  local offset = 0
  while true do
    local page = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', offset, 100)
    for i = 1, #page, 2 do
      missing = missing - cost_of(page[i])
      if missing <= 0 then return tonumber(page[i + 1]) end
    end
    -- Fewer entries than what is used says: not as we left it.
    if #page == 0 then error({foreign = key}) end
    offset = offset + 100
  end
end

function sorted_set.save(kind, state, fresh)
  redis.call('ZADD', state.key, score_of(state.value), kind, score_of(fresh), 'fresh',
    score_of(state.grant), 'grant')
end
