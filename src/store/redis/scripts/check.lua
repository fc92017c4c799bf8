-- An ordered list of calls, each with its limits, evaluated one after the other. See src/store/decide.h for
-- what a call does, and README.md beside this file for what stands in KEYS, ARGV and the answer.

local ALGORITHMS = {
  t = bucket,
  l = bucket,
  f = fixed_window,
  w = sliding_counter,
  s = sliding_log,
  c = concurrency,
}

-- ---- Limits, each written as text and read once.

local limits = {}

local function read_limit(spec)
  local kind, rest = string.match(spec, '^(%a),(.*)$')
  local limit = {kind = kind, algorithm = ALGORITHMS[kind]}
  if kind == 't' or kind == 'l' then
    local cap, num, den, interval = string.match(rest, '^(%d+),(%d+),(%d+),(%d+)$')
    limit.cap, limit.num = tonumber(cap), tonumber(num)
    limit.den, limit.interval = tonumber(den), tonumber(interval)
  else
    local cap, window, anchor = string.match(rest, '^(%d+),(%d+),?([%a_]*)$')
    limit.cap, limit.window, limit.anchor = tonumber(cap), tonumber(window), anchor
  end
  return limit
end

local function limit_of(spec)
  if not limits[spec] then limits[spec] = read_limit(spec) end
  return limits[spec]
end

-- ---- What is stored. Strings are read once and written once for all calls; sorted sets at once.

local strings = {}  -- By key: what the string says, or false if there is none.
local changed = {}  -- The keys of `strings` that must be written.

local function is_whole(number)
  return fmod(number, 1) == 0
end

local function parse(key, text)
  local version, kind = string.match(text, '^([1234])([tlfw])')
  local bytes = kind == 'w' and VALUE_BYTES + 8 or VALUE_BYTES
  local expiring, expires
  if version == '3' or version == '4' then
    if #text < bytes + 16 then error({foreign = key}) end
    expiring, expires = struct.unpack('<dd', text, bytes + 1)
    bytes = bytes + 16
  end
  local book
  if version == '2' or version == '4' then
    book = lease.unpack(text, bytes + 1)
    if not book then error({foreign = key}) end
  elseif not kind or #text ~= bytes then
    error({foreign = key})
  end
  local _, value, at, extra, fresh, grant, place = struct.unpack(VALUE, text)
  local previous = kind == 'w' and struct.unpack('<d', text, place) or nil
  if not (is_whole(value) and is_whole(at) and is_whole(extra) and is_whole(fresh) and is_whole(grant) and
      is_whole(previous or 0) and is_whole(expiring or 0) and is_whole(expires or 0)) then
    error({foreign = key})
  end
  if expiring and not (expiring > 0 and expiring <= grant) then error({foreign = key}) end
  return {kind = kind, value = value, at = at, extra = extra, fresh = fresh, grant = grant, previous = previous,
    expiring = expiring, expires = expires, book = book}
end

-- Whatever a key holds: a table with `kind` and the fields of a state, or nil. `kind`: what it probably is.
local function stored(key, kind)
  local known = strings[key]
  if known then return known end
  local set = known == nil and ALGORITHMS[kind].set
  if set then
    local used = redis.pcall('ZSCORE', key, set)
    local loaded = type(used) == 'string' and sorted_set.load(key, set, used)
    if loaded then
      loaded.kind = kind
      return loaded
    end
  end
  local value = known == nil and redis.pcall('GET', key)
  if type(value) == 'string' then
    strings[key] = parse(key, value)
    return strings[key]
  end
  if type(value) == 'table' and value.err then
    if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value.err) end
    local is_set = redis.call('TYPE', key).ok == 'zset'
    for kind, algorithm in pairs({s = sliding_log, c = concurrency}) do
      local loaded = is_set and sorted_set.load(key, algorithm.set, redis.call('ZSCORE', key, algorithm.set))
      if loaded then
        loaded.kind = kind
        return loaded
      end
    end
    error({foreign = key})
  end
  strings[key] = false
  return nil
end

local function copy(from)
  return {at = from.at, value = from.value, previous = from.previous,
    extra = from.extra, grant = from.grant, expiring = from.expiring, expires = from.expires, book = from.book and lease.copy(from.book)}
end

-- Keys that are leased from refill, wait and end differently.
local function advance(limit, state)
  return (state.book and lease or limit.algorithm).advance(limit, now, state)
end

local function wait_for(limit, state, cost)
  return (state.book and lease or limit.algorithm).wait_for(limit, now, state, cost)
end

local function fresh_at(limit, state)
  return (state.book and lease or limit.algorithm).fresh_at(limit, state)
end

-- A key as a call finds it: its state, brought to now.
local function load_subject(key, limit)
  local algorithm = limit.algorithm
  local from = stored(key, limit.kind)
  if from then grants.expire(from) end
  local subject = {key = key, limit = limit, pending = 0, pending_from_grant = 0}
  subject.touched = from and from.at or 0
  subject.fresh_after = from and wait_until(now, from.fresh) or 0
  if from and from.grant == 0 and now >= from.fresh then
    subject.replaces = true
    from = nil
  end
  if from and from.kind == limit.kind then
    subject.state = algorithm.set and from or copy(from)  -- Sets are read anew for each call.
    subject.set_back = algorithm.convert(limit, now, subject.state)
  else
    subject.state = algorithm.fresh(limit, now)
    subject.replaces = subject.replaces or from ~= nil
    if from and limit.kind ~= 'c' then
      subject.state.grant, subject.state.expiring, subject.state.expires = from.grant, from.expiring, from.expires
    end
  end
  if advance(limit, subject.state) then subject.set_back = true end
  return subject
end

-- Thousands of entries are freed in the background, if the user may do that.
local function remove_key(key)
  local reply = redis.pcall('UNLINK', key)
  if type(reply) == 'table' and reply.err then redis.call('DEL', key) end
end

-- Comes before the state is changed. In a sorted set, what stood there under another algorithm goes, and
-- so does what is over: what is used is no longer counted with it.
local function prepare(subject)
  local algorithm, state = subject.limit.algorithm, subject.state
  if algorithm.set and not subject.changed then
    if not state.key then
      if subject.replaces then remove_key(subject.key) end
      strings[subject.key] = nil
      changed[subject.key] = nil
      state.key = subject.key
    end
    algorithm.commit(subject.limit, state)
  end
  subject.changed = true
end

local function save_set(subject, fresh)
  local state = subject.state
  if fresh <= now and state.grant == 0 then
    remove_key(subject.key)
    return
  end
  sorted_set.save(subject.limit.algorithm.set, state, fresh)
  local ttl = time_to_live(grants.stays_until(state, fresh))
  if ttl then redis.call('PEXPIRE', subject.key, ttl) else redis.call('PERSIST', subject.key) end
end

local function write_back(subject)
  local limit, state = subject.limit, subject.state
  local algorithm = limit.algorithm
  if subject.set_back then prepare(subject) end
  if not subject.changed then return end
  local fresh = subject.fresh or fresh_at(limit, state)
  if algorithm.set then return save_set(subject, fresh) end
  if fresh <= now and state.grant == 0 then
    strings[subject.key] = false
  else
    state.kind, state.fresh = limit.kind, fresh
    strings[subject.key] = state
  end
  changed[subject.key] = true
end

local function flush()
  for key in pairs(changed) do
    local state = strings[key]
    if not state then
      redis.call('DEL', key)
    else
      local version = state.expiring and (state.book and '4' or '3') or state.book and '2' or '1'
      local value = struct.pack(VALUE, version .. state.kind, state.value, state.at, state.extra, state.fresh,
        state.grant)
      if state.previous then value = value .. struct.pack('<d', state.previous) end
      if state.expiring then value = value .. struct.pack('<dd', state.expiring, state.expires) end
      if state.book then value = value .. lease.pack(state.book) end
      set_until(key, value, grants.stays_until(state, state.fresh))
    end
  end
end

-- ---- What a call does.

local ALLOWED, DENIED, NEVER_FITS = 0, 1, 2
local NOTHING_TAKEN = -1  -- In place of a receipt's time.

local function holds_its_slot(use)
  return use.slot and concurrency.holds(use.subject.state, use.slot)
end

local function evaluate(use)
  local subject, limit = use.subject, use.limit
  local state, algorithm = subject.state, limit.algorithm
  use.outcome, use.retry, use.delay = ALLOWED, 0, 0
  use.amount, use.from_grant, use.at, use.grant_expires = 0, 0, NOTHING_TAKEN, nil
  if use.cost == 0 then return end
  use.held = holds_its_slot(use)
  if use.held then return end
  local left = algorithm.left(limit, now, state)
  -- What earlier uses take is only ever subtracted: added, it might be more than 2^53.
  local pending = subject.pending
  local from_grant = min(use.cost, state.grant - subject.pending_from_grant)
  local from_limit = use.cost - from_grant
  local only_grant = from_limit == 0 and pending == 0
  if only_grant or from_limit <= left - pending or use.mode == 'f' then
    if not only_grant then use.delay = algorithm.delay(limit, state) end
    if use.mode ~= 's' and not use.only_looks then
      subject.pending = min(pending + from_limit, MAX)
      subject.pending_from_grant = subject.pending_from_grant + from_grant
    end
  elseif from_limit > limit.cap - pending then
    use.outcome, use.retry = NEVER_FITS, MAX_WAIT
  else
    local missing = from_limit + pending
    subject.waits = subject.waits or {}
    subject.waits[missing] = subject.waits[missing] or wait_for(limit, state, missing)
    use.outcome, use.retry = DENIED, subject.waits[missing]
  end
end

local function take(use, cost)
  if cost == 0 then return end
  local subject = use.subject
  local state = subject.state
  prepare(subject)
  if use.slot and concurrency.holds(state, use.slot) then
    concurrency.renew(use.limit, state, use.slot)
  else
    use.from_grant = min(cost, state.grant)
    use.amount = cost - use.from_grant
    use.grant_expires = grants.take(state, use.from_grant)
    if use.amount > 0 then
      use.limit.algorithm.take(use.limit, state, use.amount, use.slot or use.new_slot, use.new_slot)
    end
  end
  use.at = state.at
end

-- What a denied call takes from a limit that counts denied calls: what is there, and no debt.
local function counted_when_denied(use)
  if not use.count_denied or use.mode == 's' or use.limit.kind == 'c' then return 0 end
  local state = use.subject.state
  return min(use.cost, max(use.limit.algorithm.left(use.limit, now, state), 0) + state.grant)
end

local function show(use)
  local state, algorithm = use.subject.state, use.limit.algorithm
  use.left, use.grant = max(algorithm.left(use.limit, now, state), 0), state.grant
  use.reset = wait_until(now, fresh_at(use.limit, state))
end

-- None that is enforced may deny the call, nor may all of its quotas.
local function passes(uses)
  local any_quota, any_quota_fits = false, false
  for _, use in ipairs(uses) do
    local fits = use.outcome == ALLOWED
    if use.mode == 'e' and not fits then return false end
    if use.mode == 'q' then any_quota, any_quota_fits = true, any_quota_fits or fits end
  end
  return any_quota_fits or not any_quota
end

local function check(uses, takes)
  for _, use in ipairs(uses) do evaluate(use) end
  local allowed = passes(uses)
  for _, use in ipairs(uses) do
    if takes then
      if not allowed then
        take(use, counted_when_denied(use))
      elseif use.only_looks then
        use.at = use.subject.state.at  -- A later charge counts where the call has looked.
      elseif use.outcome == ALLOWED then
        take(use, use.cost)
      end
    end
    if not allowed then use.delay = 0 end
    show(use)
  end
  return allowed and 1 or 0
end

local function adjust(use)
  local subject = use.subject
  local state = subject.state
  local kept_of_grant = min(use.receipt_grant, use.total)
  local kept_of_limit = use.total - kept_of_grant
  prepare(subject)
  use.limit.algorithm.adjust(use.limit, state, use.receipt_at, kept_of_limit - (use.charged - use.receipt_grant))
  grants.add(state, use.receipt_grant - kept_of_grant, use.grant_expires)
  use.grant_expires = nil
end

local each = {
  G = function(use)
    local state = use.subject.state
    if grants.is_over(use.grant_expires) then
      use.grant_expires = state.expires
      return 0
    end
    prepare(use.subject)
    grants.add(state, use.cost, use.grant_expires)
    use.grant_expires = state.expires
    return 0
  end,
  A = function(use)
    if settlement.takes_effect(use) then adjust(use) end
    if use.receipt then use.amount, use.from_grant, use.at = use.total, settlement.repeated(use), use.charged end
    return 0
  end,
  F = function(use)
    local state = use.subject.state
    prepare(use.subject)
    state.book = state.book or lease.new_book()
    use.lent = lease.fetch(use.limit, now, state, use.request)
    use.subject.fresh = use.lent.fresh
    return 0
  end,
  H = function(use)
    local state = use.subject.state
    if not state.book then return 0 end
    prepare(use.subject)
    for _, report in ipairs(use.request.reports) do lease.hear(use.limit, state, report) end
    return 0
  end,
  L = function(use)
    if not holds_its_slot(use) then return 0 end
    prepare(use.subject)
    concurrency.release(use.limit, use.subject.state, use.slot)
    return 1
  end,
  N = function(use)
    if not holds_its_slot(use) then return 0 end
    prepare(use.subject)
    concurrency.renew(use.limit, use.subject.state, use.slot)
    return 1
  end,
}

local function forget(use)
  local from = stored(use.key, use.limit.kind)
  if not from then return 0 end
  grants.expire(from)
  local live = from.grant > 0 or now < from.fresh
  if live and from.book and from.kind == use.limit.kind then
    -- What nodes hold they can still spend.
    local subject = load_subject(use.key, use.limit)
    if #subject.state.book.parts > 0 then
      lease.reset(use.limit, now, subject.state)
      prepare(subject)
      write_back(subject)
      return 1
    end
  end
  if from.key then remove_key(from.key) else redis.call('DEL', use.key) end
  strings[use.key] = false
  changed[use.key] = nil
  return live and 1 or 0
end

-- ---- The calls in ARGV, and their answers.

local next_key = 1

-- A use, as written from ARGV[at] on.
local function read_use(operation, at)
  local use = {key = KEYS[next_key], limit = limit_of(ARGV[at]), cost = tonumber(ARGV[at + 1]), mode = 'e'}
  next_key = next_key + 1
  local more = ARGV[at + 2]
  if more == '' then return use end
  if operation == 'F' or operation == 'H' then
    use.request = lease.read_request(more)
    return use
  end
  local mode, counts, whose, slot, amount, grant, at_time, expires, settles =
    string.match(more, '^(%a)([dl-])([on]?)(%d*),(%d+),(%d+),(%d+),(%d+)(.*)$')
  use.mode, use.count_denied, use.only_looks = mode, counts == 'd', counts == 'l'
  if whose == 'o' then use.slot = slot end
  if whose == 'n' then use.new_slot = slot end
  use.receipt_amount, use.receipt_grant = tonumber(amount), tonumber(grant)
  use.receipt_at = tonumber(at_time)
  if expires ~= '0' then use.grant_expires = tonumber(expires) end
  if settles ~= '' then
    local receipt, expires, max_marks, step = string.match(settles, '^,(%d+),(%d+),(%d+),(%a)$')
    use.receipt, use.expires, use.max_marks, use.step = receipt, tonumber(expires), tonumber(max_marks), step
    use.marks = KEYS[next_key]
    next_key = next_key + 1
  end
  return use
end

local function run(operation, uses)
  if operation == 'R' then
    local affected = 0
    for _, use in ipairs(uses) do stored(use.key, use.limit.kind) end  -- If one is not ours, none goes.
    for _, use in ipairs(uses) do affected = affected + forget(use) end
    for _, use in ipairs(uses) do use.subject = load_subject(use.key, use.limit) end
    for _, use in ipairs(uses) do show(use) end
    return affected
  end
  local subjects = {}
  for _, use in ipairs(uses) do
    subjects[use.key] = subjects[use.key] or load_subject(use.key, use.limit)
    use.subject = subjects[use.key]
  end
  if operation == 'A' then settlement.find(uses) end
  local answer = 0
  if operation == 'C' or operation == 'P' or operation == 'K' then
    answer = check(uses, operation == 'C')
  else
    for _, use in ipairs(uses) do
      if each[operation] then answer = answer + each[operation](use) end
      if operation ~= 'F' then show(use) end
    end
  end
  if operation ~= 'P' and operation ~= 'I' then
    for _, subject in pairs(subjects) do write_back(subject) end
  end
  if operation == 'A' then settlement.note(uses) end
  return answer
end

local answers = {}

local function say(...)
  local said = #answers
  for i, number in ipairs({...}) do answers[said + i] = number end
end

local function answer_of(operation, use)
  if operation == 'I' then
    local subject = use.subject
    local state, algorithm = subject.state, use.limit.algorithm
    local live = state.grant > 0 or fresh_at(use.limit, state) > now
    return say(live and 1 or 0, use.left, use.grant, algorithm.left(use.limit, now, state), use.reset,
      state.book and lease.outstanding(state.book) or 0, state.expiring or 0, state.expires or 0,
      subject.fresh_after, subject.touched)
  end
  if operation == 'F' then
    local lent = use.lent
    return say(lent.tokens, lent.ready, lent.fraction, lent.num, lent.den, lent.generation, lent.expires,
      lent.good_for, lease.flags(lent), lent.left, lent.retry, lent.reset, lent.taken_at, lent.epoch)
  end
  say(use.outcome or ALLOWED, use.left, use.grant, use.retry or 0, use.reset, use.delay or 0,
    use.amount or 0, use.from_grant or 0, use.at or NOTHING_TAKEN, use.grant_expires or 0)
end

-- About 0.5 ms: 2.5 µs for each, a redis.call with its preparation. A call that has begun is finished, and
-- takes at most half as long; those after it have to be sent again.
local MOST_WORK = 200
local WORK_OF_SET, WORK_OF_STRING, WORK_OF_RECEIPT = 16, 8, 8

local function work_of(uses)
  local sum = 0
  for _, use in ipairs(uses) do
    sum = sum + (use.limit.algorithm.set and WORK_OF_SET or WORK_OF_STRING) + (use.marks and WORK_OF_RECEIPT or 0)
  end
  return sum
end

-- Appends the answer of one call; returns an error that concerns all of them.
local function answer_call(operation, uses)
  local ok, answer = pcall(run, operation, uses)
  if ok then
    say(answer)
    for _, use in ipairs(uses) do answer_of(operation, use) end
  elseif type(answer) == 'table' and (answer.foreign or answer.full) then
    -- A foreign value, or too many receipts: this call has no answer, but the others have.
    say(answer.full and -2 or -1)
    for _ = 1, #uses do
      say(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      if operation == 'F' then say(0, 0, 0, 0) end
    end
  else
    return redis.error_reply(type(answer) == 'table' and answer.err or tostring(answer))
  end
  return nil
end

local function answer_all()
  local next_argument, answered = 2, 0
  while next_argument <= #ARGV do
    local operation, count, times = string.match(ARGV[next_argument], '^(%a)(%d+)%*(%d+)$')
    for _ = 1, tonumber(times) do
      if work >= MOST_WORK then
        table.insert(answers, 1, -3)
        table.insert(answers, 2, answered)
        return nil
      end
      local uses = {}
      for i = 1, tonumber(count) do uses[i] = read_use(operation, next_argument + 3 * i - 2) end
      local failure = answer_call(operation, uses)
      if failure then return failure end
      work, answered = work + work_of(uses), answered + 1
    end
    next_argument = next_argument + 1 + 3 * tonumber(count)
  end
  return nil
end

local failure = answer_all()
if failure then return failure end
flush()
return answers
