-- What the two algorithms that remember every call share: entries in a sorted set, by time, with members
-- "<name>:<cost>". Beside them stand members whose scores are below zero, where no time is:
--
--   "log" or "slots"  what all entries cost together; the name also says whose set it is
--   "fresh"           from when on the key is as if never used
--   "grant"           what is left of grants; the fraction of its score says who wrote the set last (`KEPT`)
--   "expiring", "expires"   the part of the grant that ends, and when; there only if "grant" says so (`KEPT`)
--   "mark", "dead"    entries up to the moment `mark` no longer count, and cost `dead` together
--   "closed", "closed2", …   where the last block of each level ends, plus one
--   "#<level>:<last>:<sum>"  a block: what the entries up to the moment `last` cost together that are in no
--                     earlier block of its level. A block of level 2 covers blocks of level 1, and so on.
--   "@<slot>"         what a slot costs, if that is not one
--
-- Blocks answer in O(log n) what entries cost together up to a moment, and up to which moment they cost so
-- much. Entries after the last block are not covered yet: there are few of them. What is over is removed a
-- few entries at a time, so that no call has to remove thousands.
--
-- Programs that know nothing of blocks and marks read these sets: to them, entries are all that counts. When
-- they write, the fraction of "grant" is none of ours, and blocks and marks are not trusted any more.

local BLOCK = 16   -- So many entries (or blocks) make a block, once there are twice as many.
local LEVELS = 4
local PAGE = 64    -- Entries that are read, or removed, at a time.
local BLOCKS_PER_CALL, BLOCKS_WHILE_ADOPTING = 4, 16

-- The fraction of the score of "grant".
local KEPT = {
  plain = 0.25,     -- Nothing but entries, and "@" for each slot that needs it.
  indexed = 0.75,   -- The same, with marks and blocks.
  adopting = 0.375  -- As above, but slots behind the last block may lack their "@".
}
local EXPIRING = 0.0625  -- Added to it: a part of the grant expires.
local LARGEST_KEPT = 562949953421312  -- 2^49: larger grants have no such fraction.

local sorted_set = {}

-- What this script call has done so far beyond the ordinary, in redis.call's: see check.lua.
local work = 0

-- A foreign entry makes the whole set foreign.
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

-- ---- Blocks. Their scores lie between -0.01 and 0, level by level, in the order of their ends.

local LEVEL_SCALE = {}
for level = 1, LEVELS do LEVEL_SCALE[level] = 2 ^ (-60 * level) end

local function block_score(level, last)
  return string.format('%.17g', (last + 1 - MAX) * LEVEL_SCALE[level])
end

-- Above all blocks of a level, and below those of the next.
local function level_end(level)
  return string.format('%.17g', -1024 * LEVEL_SCALE[level])
end

local function last_of(block)
  return tonumber(string.match(block, ':(%d+):'))
end

local function block_name(level, last, sum)
  return '#' .. level .. ':' .. text(last) .. ':' .. text(sum)
end

-- The first block of a level that ends at `moment` or later; after it, if `exclusive` is '('.
local function block_at(state, level, moment, exclusive)
  return redis.call('ZRANGEBYSCORE', state.key, (exclusive or '') .. block_score(level, moment),
    level_end(level), 'LIMIT', 0, 1)[1]
end

local function last_closed(state, level)
  if level == 1 then return state.closed end
  return amount_of(redis.call('ZSCORE', state.key, 'closed' .. level)) - 1
end

local function set_last_closed(state, level, last)
  if level == 1 then
    state.closed = last
  else
    redis.call('ZADD', state.key, score_of(last + 1), 'closed' .. level)
  end
end

local function drop_blocks(state)
  redis.call('ZREMRANGEBYSCORE', state.key, '-0.01', '(0')
  redis.call('ZREM', state.key, 'closed2', 'closed3', 'closed4')
  state.closed = nil
end

-- A block that covers nothing goes, with those below it that end where it does; but not if it is the last of
-- its level, or the last that a block above covers.
local function drop_empty_blocks(state, last)
  local empty = {}
  for level = 1, LEVELS do
    local block = block_at(state, level, last)
    if not block or last_of(block) ~= last then break end
    if cost_of(block) > 0 then return end
    empty[level] = block
  end
  if #empty > 0 and block_at(state, #empty, last, '(') then redis.call('ZREM', state.key, unpack(empty)) end
end

-- An entry of that moment was added, removed or changed.
local function change_blocks(state, moment, change)
  if not state.closed or moment > state.closed then return end
  local emptied
  for level = 1, LEVELS do
    local block = block_at(state, level, moment)
    if not block then break end
    local last, sum = last_of(block), cost_of(block) + change
    work = work + 4
    redis.call('ZREM', state.key, block)
    redis.call('ZADD', state.key, block_score(level, last), block_name(level, last, sum))
    if level == 1 and sum == 0 then emptied = last end
  end
  if emptied then drop_empty_blocks(state, emptied) end
end

local function end_of(state, level, member)
  return level > 0 and last_of(member) or tonumber(redis.call('ZSCORE', state.key, member))
end

-- Reads entries (level 0) or blocks after `from`, up to `to` (nil: all), and adds up what they cost. Returns
-- the moment at which that reaches `missing`; or nil, the sum, and where the last of them ends. Scores are
-- not asked for with the members: they take Redis longer to write than all the rest.
local function scan(state, level, from, to, missing)
  local sum, before, skipped = 0, nil, 0
  local low, high
  if level == 0 then
    low, high = from < 0 and '0' or '(' .. text(from), to and text(to) or '+inf'
  else
    low, high = '(' .. block_score(level, from), to and block_score(level, to) or level_end(level)
  end
  while true do
    local page = redis.call('ZRANGEBYSCORE', state.key, low, high, 'LIMIT', skipped, PAGE)
    work = work + 2 + #page * 0.75
    for i = 1, #page do
      local cost = cost_of(page[i])
      if cost >= missing - sum then
        if level == 0 then return end_of(state, 0, page[i]) end
        local last = before and last_of(before) or from
        return scan(state, level - 1, last, last_of(page[i]), missing - sum) or error({foreign = state.key})
      end
      sum, before = sum + cost, page[i]
    end
    if #page < PAGE then return nil, sum, before and end_of(state, level, before) or from end
    -- Entries of one moment may go on on the next page.
    if level > 0 then
      low = '(' .. block_score(level, last_of(before))
    else
      local score, same = redis.call('ZSCORE', state.key, before), 1
      while same < PAGE and redis.call('ZSCORE', state.key, page[PAGE - same]) == score do same = same + 1 end
      skipped = (same == PAGE and low == score) and skipped + PAGE or same
      low = score
    end
  end
end

-- The same of all entries after `from`: up through the blocks that begin there, and down again.
local function walk(state, from, missing)
  local total, level, last = 0, 0, from
  while state.closed and last < state.closed and level < LEVELS do
    local block = block_at(state, level + 1, last, '(')
    if not block then break end
    local stop = last_of(block)
    local found, sum = scan(state, level, last, stop, missing - total)
    if found then return found end
    total, last, level = total + sum, stop, level + 1
  end
  for down = level, 0, -1 do
    local found, sum, reached = scan(state, down, last, nil, missing - total)
    if found then return found end
    total, last = total + sum, reached
  end
  return nil, total
end

-- ---- Reading

-- `used`: the score of its member `kind`.
function sorted_set.load(key, kind, used)
  if not used or tonumber(used) >= 0 then return nil end
  local grant = -(tonumber(redis.call('ZSCORE', key, 'grant')) or -0.5)
  local state = {
    key = key,
    total = amount_of(used),
    fresh = amount_of(redis.call('ZSCORE', key, 'fresh')),
    grant = floor(grant),
    dead = 0,
    expired = 0,
  }
  local kept = grant - state.grant
  if kept == 0 or fmod(kept, 2 * EXPIRING) == EXPIRING then
    state.expiring = amount_of(redis.call('ZSCORE', key, 'expiring'))
    state.expires = amount_of(redis.call('ZSCORE', key, 'expires'))
    if state.expiring == 0 then state.expiring, state.expires = nil, nil else state.had_expiring = true end
    if kept > 0 then kept = kept - EXPIRING end
  end
  state.known = kept == KEPT.plain or kept == KEPT.indexed or kept == KEPT.adopting
  state.complete = kept == KEPT.plain or kept == KEPT.indexed
  if kept == KEPT.indexed or kept == KEPT.adopting then
    state.dead = amount_of(redis.call('ZSCORE', key, 'dead'))
    state.mark = state.dead > 0 and amount_of(redis.call('ZSCORE', key, 'mark')) or nil
    local closed = amount_of(redis.call('ZSCORE', key, 'closed')) - 1
    state.closed = closed >= 0 and closed or nil
  end
  state.value = state.total - state.dead
  return state
end

-- A set that is still to be made.
function sorted_set.fresh()
  return {value = 0, total = 0, dead = 0, expired = 0, grant = 0, known = true, complete = true}
end

-- The latest entry's score, or nil if none counts.
function sorted_set.newest(state)
  local last = redis.call('ZREVRANGE', state.key, 0, 0, 'WITHSCORES')
  local score = tonumber(last[2])
  if score and score >= 0 and score > (state.mark or -1) then return score end
  return nil
end

-- Leaves out of `value` what is over: the entries up to `last`. Comes after `newest`.
function sorted_set.leave_out(state, last)
  local from = state.mark or -1
  state.over = max(from, last)
  if not state.newest or state.over <= from then return end
  local page = redis.call('ZRANGEBYSCORE', state.key, from < 0 and 0 or '(' .. text(from), text(state.over),
    'LIMIT', 0, PAGE)
  work = work + #page / 4
  if #page < PAGE then
    for _, member in ipairs(page) do state.expired = state.expired + cost_of(member) end
  else
    local _, live = walk(state, state.over, math.huge)
    state.expired = state.value - live
  end
  state.value = state.value - state.expired
end

-- The score of the entry at which, oldest first, `missing` has been added up.
function sorted_set.score_at(state, missing)
  -- Fewer entries than what is used says: not as we left it.
  return walk(state, state.over, missing) or error({foreign = state.key})
end

-- How many entries count.
function sorted_set.count(state)
  return redis.call('ZCOUNT', state.key, state.over < 0 and 0 or '(' .. text(state.over), '+inf')
end

-- ---- Writing

-- Adds to `members` those that go with an entry.
local function with_directory(state, members)
  for i = 1, #members do
    local slot, cost = string.match(members[i], '^(%d+):(%d+)$')
    if cost ~= '1' and amount_of(redis.call('ZSCORE', state.key, '@' .. slot)) == tonumber(cost) then
      members[#members + 1] = '@' .. slot
    end
  end
  return members
end

-- Removes some of the entries that are over; false if there were none.
local function remove_some(state, kind)
  local members, cost = redis.call('ZRANGEBYSCORE', state.key, 0, text(state.mark), 'LIMIT', 0, PAGE), 0
  local count = #members
  if count == 0 then return false end
  for _, member in ipairs(members) do cost = cost + cost_of(member) end
  work = work + 3 + count / 2
  local removed_up_to = state.mark
  if state.closed and count == PAGE then removed_up_to = end_of(state, 0, members[PAGE]) - 1 end
  if kind == 'slots' then with_directory(state, members) end
  redis.call('ZREM', state.key, unpack(members))
  state.total, state.dead = state.total - cost, state.dead - cost
  if state.closed and removed_up_to >= 0 then
    work = work + LEVELS
    for level = 1, LEVELS do
      redis.call('ZREMRANGEBYSCORE', state.key, block_score(level, 0), block_score(level, removed_up_to))
    end
  end
  return true
end

-- Removes all of them, of which there may be many, so that entries can be put anywhere.
function sorted_set.start_over(state, kind)
  while state.dead > 0 and remove_some(state, kind) do end
  state.dead, state.mark, state.over = 0, nil, -1
  if state.closed then drop_blocks(state) end
end

-- Comes before anything is changed: what is over is so for good. If there is nothing, this must not even try:
-- without memory, Redis refuses a script's first write only, and removing counts.
function sorted_set.forget(state, kind)
  if not state.known then
    -- Blocks from before a writer that does not know them.
    drop_blocks(state)
    state.known = true
  end
  if state.expired + state.dead == 0 then return end
  state.dead, state.mark = state.dead + state.expired, state.over
  state.expired = 0
  remove_some(state, kind)
  if state.dead == 0 then state.mark = nil end
end

local function count_change(state, moment, change)
  state.total, state.value = state.total + change, state.value + change
  change_blocks(state, moment, change)
end

-- Another cost for an entry; none if that is 0.
function sorted_set.replace(state, moment, name, old, cost)
  redis.call('ZREM', state.key, name .. ':' .. text(old))
  if cost > 0 then redis.call('ZADD', state.key, text(moment), name .. ':' .. text(cost)) end
  count_change(state, moment, cost - old)
end

function sorted_set.add(state, kind, moment, name, cost)
  -- What is over lies before everything else, and all is counted exactly.
  if state.mark and (moment <= state.mark or state.total + cost > MAX) then
    sorted_set.start_over(state, kind)
  end
  local member = name .. ':' .. text(cost)
  if kind == 'slots' and cost ~= 1 then
    redis.call('ZADD', state.key, text(moment), member, score_of(cost), '@' .. name)
  else
    redis.call('ZADD', state.key, text(moment), member)
  end
  count_change(state, moment, cost)
end

function sorted_set.remove(state, kind, moment, name, cost)
  redis.call('ZREM', state.key, name .. ':' .. text(cost))
  if kind == 'slots' and cost ~= 1 then redis.call('ZREM', state.key, '@' .. name) end
  count_change(state, moment, -cost)
end

-- Makes a block of the next BLOCK entries or blocks below it, if there are twice as many. Returns how many
-- there were.
local function close_block(state, kind, level)
  local closed = last_closed(state, level) or -1
  local low, high
  if level == 1 then
    low, high = closed < 0 and '0' or '(' .. text(closed), '+inf'
  else
    low, high = '(' .. block_score(level - 1, closed), level_end(level - 1)
  end
  local count = redis.call('ZCOUNT', state.key, low, high)
  if count < 2 * BLOCK then return count end
  local members = redis.call('ZRANGEBYSCORE', state.key, low, high, 'LIMIT', 0, BLOCK)
  local last = end_of(state, level - 1, members[BLOCK])
  if level == 1 then
    -- All entries of one moment are in one block.
    members = redis.call('ZRANGEBYSCORE', state.key, low, text(last))
  end
  local sum = 0
  for _, member in ipairs(members) do sum = sum + cost_of(member) end
  work = work + 6 + #members / 2
  if level == 1 and kind == 'slots' and not state.complete then sorted_set.complete(state, members) end
  redis.call('ZADD', state.key, block_score(level, last), block_name(level, last, sum))
  set_last_closed(state, level, last)
  return count
end

-- Writes the "@" of slots that others have taken.
function sorted_set.complete(state, members)
  for _, member in ipairs(members) do
    local slot, cost = string.match(member, '^(%d+):(%d+)$')
    if slot and cost ~= '1' then redis.call('ZADD', state.key, score_of(tonumber(cost)), '@' .. slot) end
  end
end

local function close_blocks(state, kind)
  if state.complete and not state.closed and state.total < 2 * BLOCK then return end
  local count
  for _ = 1, state.complete and BLOCKS_PER_CALL or BLOCKS_WHILE_ADOPTING do
    count = close_block(state, kind, 1)
    if count < 2 * BLOCK then break end
    for level = 2, LEVELS do
      if close_block(state, kind, level) < 2 * BLOCK then break end
    end
  end
  if state.complete or count >= 2 * BLOCK then return end
  if kind == 'slots' then
    sorted_set.complete(state, redis.call('ZRANGEBYSCORE', state.key,
      state.closed and '(' .. text(state.closed) or 0, '+inf'))
  end
  state.complete = true
end

function sorted_set.save(kind, state, fresh)
  close_blocks(state, kind)
  local has_more = state.dead > 0 or state.closed
  local kept = not state.complete and KEPT.adopting or has_more and KEPT.indexed or KEPT.plain
  if state.expiring then
    kept = kept + EXPIRING
    redis.call('ZADD', state.key, score_of(state.expiring), 'expiring', score_of(state.expires), 'expires')
  elseif state.had_expiring then
    redis.call('ZREM', state.key, 'expiring', 'expires')
  end
  local grant = '-' .. text(state.grant)
  if state.grant < LARGEST_KEPT then grant = string.format('%.17g', -(state.grant + kept)) end
  if has_more or not state.complete then
    redis.call('ZADD', state.key, score_of(state.total), kind, score_of(fresh), 'fresh', grant, 'grant',
      score_of(state.mark or 0), 'mark', score_of(state.dead), 'dead', score_of((state.closed or -1) + 1), 'closed')
  else
    redis.call('ZADD', state.key, score_of(state.total), kind, score_of(fresh), 'fresh', grant, 'grant')
  end
end
