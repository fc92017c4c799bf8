-- Leases: what nodes hold of a key, and how much more they get. See src/algo/lease.h and docs/leases.md; the
-- policy's arithmetic is in doubles there, too.
--
-- A state that has a `book` is leased from. Its parts are {expires, tokens}, soonest end first.

local lease = {}
do

local LONG_LEASE, SHORT_LEASE, SHORTEST_LEASE, EXACT_FOR = 10000000, 200000, 10000, 1000000
local LONG_STEP, SHORT_STEP = LONG_LEASE / 4, SHORT_LEASE / 2
local SHORTEST_RESERVE, LONGEST_RESERVE, LAST_RESERVE = 50000, 250000, 20000
local FASTEST_RESERVED = floor(MAX / 4 / LONGEST_RESERVE)
local BETWEEN_RECALLS, EPOCH = 5000, 500000
local MOST_PARTS, BESIDES_WAITING, SMALLEST_LEASED = 12, 16, 50
local MOST_NODES, MOST_DEMAND = 1048576, 1073741824

function lease.new_book()
  return {generation = 0, epoch = 0, holders = 0, holders_before = 0, holders_once = 0, demand = 0,
    demand_before = 0, denied = 0, denied_before = 0, recalled = 0, parts = {}}
end

local BOOK = '<ddddddddddd'

function lease.pack(book)
  local text = struct.pack(BOOK, book.generation, book.epoch, book.holders, book.holders_before,
    book.holders_once, book.demand, book.demand_before, book.denied, book.denied_before, book.recalled,
    #book.parts)
  for _, part in ipairs(book.parts) do text = text .. struct.pack('<dd', part.expires, part.tokens) end
  return text
end

-- The book that is written from `place` on; nil if that is not one.
function lease.unpack(text, place)
  if #text < place + 87 then return nil end
  local book, count, after = {parts = {}}
  book.generation, book.epoch, book.holders, book.holders_before, book.holders_once, book.demand,
    book.demand_before, book.denied, book.denied_before, book.recalled, count, after =
    struct.unpack(BOOK, text, place)
  if #text ~= place + 87 + 16 * count then return nil end
  for i = 1, count do
    local part = {}
    part.expires, part.tokens, after = struct.unpack('<dd', text, after)
    book.parts[i] = part
  end
  return book
end

function lease.copy(book)
  local parts = {}
  for i, part in ipairs(book.parts) do parts[i] = {expires = part.expires, tokens = part.tokens} end
  return {generation = book.generation, epoch = book.epoch, holders = book.holders,
    holders_before = book.holders_before, holders_once = book.holders_once, demand = book.demand,
    demand_before = book.demand_before, denied = book.denied, denied_before = book.denied_before,
    recalled = book.recalled, parts = parts}
end

local function outstanding(book)
  local sum = 0
  for _, part in ipairs(book.parts) do sum = sum + part.tokens end
  return sum
end

lease.outstanding = outstanding

-- The bucket that is left when what is outstanding is not part of it. One table for all.
local less = {}

local function refill(limit, now, state, out)
  less.cap, less.num, less.den, less.interval = limit.cap - out, limit.num, limit.den, limit.interval
  local full = less.cap * less.den
  state.value = min(state.value, full)
  bucket.advance(less, now, state)
  state.value = min(state.value, full)
end

local function advance_bucket(limit, now, state)
  local parts = state.book.parts
  local back = state.at - now
  local set_back = back > CLOCK_TOLERANCE
  if set_back then
    for _, part in ipairs(parts) do part.expires = max(0, min(part.expires - back, MAX_TIME)) end
    state.book.generation = state.book.generation + 1
  end
  local out = outstanding(state.book)
  while parts[1] and parts[1].expires <= now do
    if parts[1].expires > state.at then refill(limit, parts[1].expires, state, out) end
    out = out - table.remove(parts, 1).tokens
  end
  refill(limit, now, state, out)
  return set_back
end

local function window_end(limit, state)
  return limit.kind == 'w' and state.at + limit.window or state.extra
end

function lease.advance(limit, now, state)
  local book = state.book
  if #book.parts == 0 then
    if div(now, EPOCH) > book.epoch + 1 then state.book = lease.new_book() end
    return limit.algorithm.advance(limit, now, state)
  end
  if limit.kind == 't' then return advance_bucket(limit, now, state) end
  local set_back = limit.algorithm.advance(limit, now, state)
  if set_back then
    book.parts = {}
    return true
  end
  local oldest = limit.kind == 'w' and state.at or window_end(limit, state)
  while book.parts[1] and book.parts[1].expires < oldest do table.remove(book.parts, 1) end
  return false
end

function lease.wait_for(limit, now, state, cost)
  if limit.kind ~= 't' or cost > limit.cap then return limit.algorithm.wait_for(limit, now, state, cost) end
  local later, out = {at = state.at, value = state.value}, outstanding(state.book)
  for _, part in ipairs(state.book.parts) do
    local fits = cost <= limit.cap - out
    if fits and arrival_of(limit, later, cost * limit.den) <= part.expires then break end
    refill(limit, part.expires, later, out)
    out = out - part.tokens
  end
  return wait_until(now, arrival_of(limit, later, cost * limit.den))
end

function lease.fresh_at(limit, state)
  if limit.kind ~= 't' or #state.book.parts == 0 then return limit.algorithm.fresh_at(limit, state) end
  local later, out = {at = state.at, value = state.value}, outstanding(state.book)
  for _, part in ipairs(state.book.parts) do
    refill(limit, part.expires, later, out)
    out = out - part.tokens
  end
  return bucket.fresh_at(limit, later)
end

-- As if never used, but for what is outstanding.
function lease.reset(limit, now, state)
  local book = state.book
  state.grant, state.expiring, state.expires = 0, nil, nil
  if limit.kind == 't' then
    state.at, state.value = now, (limit.cap - outstanding(book)) * limit.den
    return
  end
  local in_hand = 0
  for _, part in ipairs(book.parts) do
    if part.expires > now then in_hand = in_hand + part.tokens end
  end
  state.value = in_hand
  if state.previous then state.previous = 0 end
end

local function give_back(limit, state, expires, tokens)
  if limit.kind == 't' then
    state.value = state.value + tokens * limit.den
  elseif limit.kind == 'w' and expires == state.at then
    state.previous = max(state.previous - tokens, 0)
  else
    state.value = max(state.value - tokens, 0)
  end
end

function lease.hear(limit, state, report)
  local book = state.book
  if report.generation == 0 or report.generation ~= book.generation then return end
  for i, part in ipairs(book.parts) do
    if part.expires == report.expires then
      local returned = max(0, min(report.returned, part.tokens))
      give_back(limit, state, part.expires, returned)
      part.tokens = part.tokens - returned
      part.tokens = part.tokens - max(0, min(report.spent, part.tokens))
      if part.tokens == 0 then table.remove(book.parts, i) end
      return
    end
  end
end

local function add_part(book, expires, tokens)
  local parts = book.parts
  local place = 1
  while parts[place] and parts[place].expires < expires do place = place + 1 end
  if parts[place] and parts[place].expires == expires then
    parts[place].tokens = parts[place].tokens + tokens
  elseif #parts < MOST_PARTS then
    table.insert(parts, place, {expires = expires, tokens = tokens})
  else
    -- No room: together with the last, until the later end.
    local last = parts[MOST_PARTS]
    last.expires, last.tokens = max(last.expires, expires), last.tokens + tokens
  end
end

-- ---- What grants are sized by

local function note_request(book, now, request)
  local epoch = div(now, EPOCH)
  if epoch ~= book.epoch then
    local is_next = epoch == book.epoch + 1
    book.holders_once = max(floor(book.holders_once / 2), book.holders * 16)
    book.holders_before = is_next and book.holders or 0
    book.demand_before = is_next and book.demand or 0
    book.denied_before = is_next and book.denied or 0
    book.holders, book.demand, book.denied = 0, 0, 0
    book.epoch = epoch
  end
  if request.epoch ~= epoch then
    book.holders = min(book.holders + 1, MOST_NODES)
    book.demand = min(book.demand + request.demand, MOST_DEMAND)
  end
  book.denied = min(book.denied + request.denied, MOST_DEMAND)
end

local function asks_for_fifths(limit, book, own, fifths)
  local demand = max(book.demand, book.demand_before, own)
  if limit.kind == 't' then
    return 5 * demand * limit.den * limit.interval > fifths * 1000000 * limit.num
  end
  return 5 * demand * limit.window > fifths * 1000000 * limit.cap
end

-- How fast a key gains what can be taken: num units of 1/den token each microsecond.
local function growth_of(limit, state)
  if limit.kind == 't' and limit.interval == 1 then return limit.num, limit.den end
  if limit.kind == 'w' and state.previous * limit.window <= MAX then return state.previous, limit.window end
  return 0, 1
end

local function reserve_time(num, den, book, nodes)
  if num == 0 or num > FASTEST_RESERVED then return 0 end
  local two_each = 2 * nodes * den
  local few_requests = floor(30000000 * nodes / max(book.demand, book.demand_before, 1))
  local enough = max(floor(2 * two_each / num) + 1, few_requests)
  local time = max(SHORTEST_RESERVE, min(enough, LONGEST_RESERVE))
  return num * time >= two_each and time or 0
end

-- What nodes have in hand when the window ends is lost: the nearer that is, the less they get.
local function no_longer_than_window(reserve, window_left)
  return min(reserve, max(div(window_left, 3), LAST_RESERVE))
end

local function left_ahead(limit, now, state, ahead)
  if limit.kind ~= 't' then
    return limit.algorithm.left(limit, min(now + ahead, window_end(limit, state) - SHORTEST_LEASE), state)
  end
  local full = limit.cap * limit.den
  local more = limit.num * ahead
  return bucket.left(limit, now, {value = more >= full - state.value and full or state.value + more})
end

local function measure(limit, now, state, request)
  local book = state.book
  local nodes = max(1, book.holders, book.holders_before, floor(book.holders_once / 16))
  local left = limit.algorithm.left(limit, now, state)
  local saturated = book.denied + book.denied_before > 0 and asks_for_fifths(limit, book, 0, 5)
  local window_left = limit.kind == 't' and MAX or window_end(limit, state) - now
  local reach = left
  if saturated or (limit.kind == 'w' and asks_for_fifths(limit, book, 0, 3)) then
    local num, den = growth_of(limit, state)
    local ahead = no_longer_than_window(reserve_time(num, den, book, nodes), window_left)
    if ahead > 0 then reach = max(left, left_ahead(limit, now, state, ahead)) end
  end
  if limit.kind == 't' then reach = min(reach, limit.cap - outstanding(book)) end
  return {left = left, reach = reach, nodes = nodes,
    pressed = book.demand_before == 0 or asks_for_fifths(limit, book, request.demand * nodes, 4),
    window_left = window_left}
end

local function size_of(limit, sizes, request)
  local there = max(sizes.left, 0)
  local plentiful = sizes.left > floor(limit.cap / 2)
  local reserve = max(sizes.reach - sizes.left, 0)
  local want = max(request.waiting, ceil_div(request.demand, 2))
  local besides = min(BESIDES_WAITING, div(limit.cap, 4 * max(sizes.nodes, request.nodes)))
  if plentiful then want = max(want, request.waiting + besides) end
  if plentiful and sizes.pressed then
    want = min(want, request.waiting + max(besides, div(limit.cap, 16 * sizes.nodes)))
  end
  if sizes.window_left < 500000 then
    want = min(want, request.waiting + div(request.demand * max(sizes.window_left, 0), 1000000))
  end
  local share = div(floor(there / 2) + reserve, sizes.nodes)
  local size = max(min(request.waiting, there), min(want, share))
  local most = max(min(size, sizes.reach), 0)
  if request.waiting > 0 and most < request.least and reserve == 0 then return 0 end
  return most
end

local function schedule(limit, now, state, left, grant)
  grant.ready, grant.fraction, grant.num, grant.den = grant.tokens, 0, 0, 1
  if grant.tokens <= left then return end
  grant.num, grant.den = growth_of(limit, state)
  grant.ready = max(left, 0)
  if limit.kind == 't' then
    grant.fraction = state.value - grant.ready * grant.den
    return
  end
  local elapsed = max(now - state.at, 0)
  local weight = limit.cap - state.value - left
  grant.fraction = weight * grant.den - state.previous * (limit.window - elapsed) +
    (left - grant.ready) * grant.den
end

local function lend(limit, now, state, sizes, grant)
  local book = state.book
  schedule(limit, now, state, sizes.left, grant)
  grant.lapses = limit.kind == 't' and sizes.left > floor(limit.cap / 2)
  limit.algorithm.take(limit, state, grant.tokens)
  if book.generation == 0 then book.generation = now end
  grant.generation = book.generation
  if limit.kind == 't' then
    grant.good_for = grant.lapses and LONG_LEASE or SHORT_LEASE
    if grant.num > 0 then grant.good_for = grant.good_for + LONGEST_RESERVE end
    local step = grant.lapses and LONG_STEP or SHORT_STEP
    grant.expires = ceil_div(now + grant.good_for, step) * step
  else
    grant.expires = window_end(limit, state)
    grant.good_for = min(LONG_LEASE, grant.expires - now)
  end
  add_part(book, grant.expires, grant.tokens)
end

local function take_exactly(limit, now, state, request)
  local there = max(limit.algorithm.left(limit, now, state), 0) + state.grant
  local tokens = min(request.waiting, there)
  if tokens < request.least or tokens <= 0 then return 0 end
  local from_grant = min(tokens, state.grant)
  grants.take(state, from_grant)
  if tokens > from_grant then limit.algorithm.take(limit, state, tokens - from_grant) end
  return tokens
end

function lease.fetch(limit, now, state, request)
  local book = state.book
  now = max(now, state.at)
  for _, report in ipairs(request.reports) do lease.hear(limit, state, report) end
  note_request(book, now, request)
  local sizes = measure(limit, now, state, request)
  local grant = {generation = 0, expires = 0, fraction = 0, num = 0, den = 1, epoch = book.epoch}
  local ends = sizes.window_left < SHORTEST_LEASE
  grant.exact = ends or state.grant > 0 or
    limit.cap < max(SMALLEST_LEASED, 4 * max(sizes.nodes, request.nodes))
  if grant.exact then
    grant.good_for = ends and sizes.window_left or EXACT_FOR
    grant.tokens = take_exactly(limit, now, state, request)
    grant.ready = grant.tokens
  else
    grant.good_for, grant.ready = 0, 0
    grant.tokens = size_of(limit, sizes, request)
    if grant.tokens > 0 then lend(limit, now, state, sizes, grant) end
  end
  local left = limit.algorithm.left(limit, now, state)
  grant.left = max(left, 0) + state.grant
  grant.retry = left < request.least and lease.wait_for(limit, now, state, min(request.least, limit.cap)) or 0
  grant.fresh = lease.fresh_at(limit, state)
  grant.reset = wait_until(now, grant.fresh)
  grant.taken_at = state.at
  local lately = book.recalled <= now and now - book.recalled < BETWEEN_RECALLS
  grant.recall = not grant.exact and request.waiting > grant.tokens and outstanding(book) > grant.tokens and
    not lately
  if grant.recall then book.recalled = now end
  return grant
end

-- What a node says: for each of three leases generation, expiry, spent and returned; then what it asks for.
local REQUEST = '^' .. string.rep(',(%d+)', 18) .. '$'

function lease.read_request(text)
  local numbers = {string.match(text, REQUEST)}
  for i = 1, 18 do numbers[i] = tonumber(numbers[i]) end
  local request = {reports = {}}
  for i = 0, 2 do
    request.reports[i + 1] = {generation = numbers[4 * i + 1], expires = numbers[4 * i + 2],
      spent = numbers[4 * i + 3], returned = numbers[4 * i + 4]}
  end
  request.waiting = min(numbers[13], MAX / 4)
  request.least = max(1, min(numbers[14], MAX / 4))
  request.demand, request.denied = min(numbers[15], MOST_DEMAND), min(numbers[16], MOST_DEMAND)
  request.epoch, request.nodes = numbers[17], max(1, min(numbers[18], MOST_NODES))
  return request
end

function lease.flags(grant)
  return (grant.lapses and 1 or 0) + (grant.exact and 2 or 0) + (grant.recall and 4 or 0)
end

end
