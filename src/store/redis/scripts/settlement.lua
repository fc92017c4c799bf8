-- Receipts that were settled: a sorted set under the hash tag of their limit's key, whose members
-- "<expiry>:<receipt>:<total>" all have the score 0. So they lie in the order of their expiry, and one is
-- found by what it begins with. The set expires with the last of them.

local settlement = {}

local MOST_DROPPED = 2  -- More than a settlement adds, so that the set does not grow by what has expired.

local function expiry_text(time)
  return string.format('%016.0f', time)
end

-- What a receipt was settled at, or nil.
local function settled_total(key, mark)
  local found = redis.pcall('ZRANGEBYLEX', key, '[' .. mark, '(' .. mark .. ':', 'LIMIT', 0, 1)
  if found.err then
    if string.find(found.err, 'WRONGTYPE', 1, true) then error({foreign = key}) end
    error(found.err)
  end
  return found[1] and (tonumber(string.sub(found[1], #mark + 1)) or error({foreign = key}))
end

-- How many members have not expired. Drops some of the others.
local function count_live(key)
  local live = redis.call('ZCARD', key)
  local expired = redis.call('ZLEXCOUNT', key, '-', '(' .. expiry_text(now + 1))
  if expired > 0 then redis.call('ZREMRANGEBYRANK', key, 0, min(expired, MOST_DROPPED) - 1) end
  return live - expired
end

-- Finds out which receipts were settled before. An error if a key can't remember those that were not.
function settlement.find(uses)
  local added, seen = {}, {}
  for _, use in ipairs(uses) do
    if use.receipt and use.expires > now then
      use.mark = expiry_text(use.expires) .. ':' .. use.receipt .. ':'
      use.total = settled_total(use.marks, use.mark)
      if not use.total then
        added[use.marks] = (added[use.marks] or 0) + 1
        if count_live(use.marks) + added[use.marks] > use.max_marks then error({full = use.marks}) end
        -- One receipt may come twice in a call.
        use.total = seen[use.marks .. use.mark]
        use.is_new = not use.total
        seen[use.marks .. use.mark] = use.total or use.cost
      end
    end
  end
end

-- Whether the adjustment of a use changes something.
function settlement.takes_effect(use)
  return not use.receipt or use.is_new
end

-- Remembers what was settled now.
function settlement.note(uses)
  for _, use in ipairs(uses) do
    if use.is_new then
      redis.call('ZADD', use.marks, 0, use.mark .. text(use.cost))
      local last = redis.call('ZREVRANGE', use.marks, 0, 0)[1]
      local ttl = time_to_live(tonumber(string.sub(last, 1, 16)))
      if ttl then redis.call('PEXPIRE', use.marks, ttl) end
    end
  end
end
