-- Receipts that were settled: a sorted set under the hash tag of their limit's key, whose members
-- "<expiry>:<receipt>:<total><step>" all have the score 0. So they lie in the order of their expiry, and one is
-- found by what it begins with. The step is 'p' of a partial settlement, 'm' of a receipt that was moved, and
-- nothing of a final settlement. The set expires with the last of them.

local settlement = {}

local MOST_DROPPED = 2  -- More than a settlement adds, so that the set does not grow by what has expired.
local FINAL, PARTIAL, MOVE = 'f', 'p', 'm'

local function expiry_text(time)
  return string.format('%016.0f', time)
end

-- The mark of a receipt: its member, total and step; or nil.
local function stored_mark(key, name)
  local found = redis.pcall('ZRANGEBYLEX', key, '[' .. name, '(' .. name .. ':', 'LIMIT', 0, 1)
  if found.err then
    if string.find(found.err, 'WRONGTYPE', 1, true) then error({foreign = key}) end
    error(found.err)
  end
  if not found[1] then return nil end
  local total, step = string.match(string.sub(found[1], #name + 1), '^(%d+)([pm]?)$')
  if not total then error({foreign = key}) end
  return {member = found[1], total = tonumber(total), step = step == '' and FINAL or step}
end

-- How many members have not expired. Drops some of the others.
local function count_live(key)
  local live = redis.call('ZCARD', key)
  local expired = redis.call('ZLEXCOUNT', key, '-', '(' .. expiry_text(now + 1))
  if expired > 0 then redis.call('ZREMRANGEBYRANK', key, 0, min(expired, MOST_DROPPED) - 1) end
  return live - expired
end

-- Sets the results of a settlement, and the mark of its receipt. See Settle in src/store/decide.h.
local function settle(use, mark)
  use.charged = mark.total or use.charged
  if mark.step == FINAL or mark.step == MOVE then
    use.total, use.ended_by = mark.total, mark.step
    return
  end
  use.total = use.step == MOVE and use.charged or use.step == PARTIAL and max(use.charged, use.cost) or use.cost
  if mark.total ~= use.total or mark.step ~= use.step then
    mark.total, mark.step, mark.changed = use.total, use.step, true
  end
end

-- Finds out what each adjustment is to do: the charge before it (`charged`) and after it (`total`). An error if a
-- key can't remember receipts that it does not know yet.
function settlement.find(uses)
  local added, marks = {}, {}
  for _, use in ipairs(uses) do
    use.charged, use.total = use.receipt_amount + use.receipt_grant, use.cost
    if use.receipt and use.expires <= now then
      settle(use, {})
    elseif use.receipt then
      use.name = expiry_text(use.expires) .. ':' .. use.receipt .. ':'
      local whole_name = use.marks .. use.name  -- One receipt may come twice in a call.
      local mark = marks[whole_name] or stored_mark(use.marks, use.name)
      if not mark then
        added[use.marks] = (added[use.marks] or 0) + 1
        if count_live(use.marks) + added[use.marks] > use.max_marks then error({full = use.marks}) end
        mark = {}
      end
      marks[whole_name] = mark
      use.mark = mark
      settle(use, mark)
    end
  end
end

-- Whether the adjustment of a use changes something.
function settlement.takes_effect(use)
  return not use.receipt or (use.mark and not use.ended_by)
end

-- What the answer says of a settlement that had no effect.
function settlement.repeated(use)
  return use.ended_by == FINAL and 1 or use.ended_by == MOVE and 2 or 0
end

-- Remembers what was settled now.
function settlement.note(uses)
  for _, use in ipairs(uses) do
    local mark = use.mark
    if mark and mark.changed then
      mark.changed = false
      if mark.member then redis.call('ZREM', use.marks, mark.member) end
      redis.call('ZADD', use.marks, 0, use.name .. text(mark.total) .. (mark.step == FINAL and '' or mark.step))
      local last = redis.call('ZREVRANGE', use.marks, 0, 0)[1]
      local ttl = time_to_live(tonumber(string.sub(last, 1, 16)))
      if ttl then redis.call('PEXPIRE', use.marks, ttl) end
    end
  end
end
