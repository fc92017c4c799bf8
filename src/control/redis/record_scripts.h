#pragma once

#include <string_view>

/// The Lua scripts of records. A record is stored as "<sequence> <time> <expires> <flag> <text>":
/// times in microseconds, expires 0: never, flag '-' for a removed one, else '+'. Each checks the
/// types of its keys before it writes, and runs as a whole or not at all.
///
/// A large write, which would block Redis for longer than calls wait, is a batch: it is staged,
/// committed by one small script (kCommitBatchScript), and then stored in portions
/// (kApplyBatchScript). From its commit on it will be stored, whatever becomes of the writer: any
/// process goes on with a batch that has made no progress for a while. Until it is complete,
/// readers see nothing of it, and no other write begins. The hash `state` has meanwhile: batch (its
/// nonce), batch_sequence and batch_time (what readers see), batch_at (of the last progress).
namespace sluice::control {

// NOLINTBEGIN(readability-identifier-naming)

/// KEYS: current, state. Returns {pointer, format, epoch, sequence, time, now, batch, microseconds
/// since its last progress}; '' for what is missing.
inline constexpr std::string_view kReadHeadScript = R"(
local state = redis.call('HMGET', KEYS[2], 'format', 'epoch', 'sequence', 'time', 'batch',
    'batch_sequence', 'batch_time', 'batch_at')
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local idle = '0'
if state[5] then
  state[3], state[4] = state[6], state[7]
  if state[3] == '0' then state[2] = '' end
  idle = string.format('%.0f', now - tonumber(state[8]))
end
return {redis.call('GET', KEYS[1]) or '', state[1] or '', state[2] or '', state[3] or '',
    state[4] or '', string.format('%.0f', now), state[5] or '', idle})";

/// Functions of the scripts that write records. Their keys are state, records, changes, removed,
/// writes, in this order. `list` has key, expected sequence number, expiry, flag and text of each
/// write, from the index `first` on.
inline constexpr std::string_view kStoreRecordsFunctions = R"(
local function problem(types, commands)
  for i, type in ipairs({'hash', 'hash', 'zset', 'zset', 'zset', unpack(types)}) do
    local found = redis.call('TYPE', KEYS[i]).ok
    if found ~= 'none' and found ~= type then
      return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is a ' .. found)
    end
  end
  if not redis.acl_check_cmd then return nil end
  for _, command in ipairs({{'HSET', KEYS[1], 'f', 'v'}, {'HSET', KEYS[2], 'f', 'v'},
      {'HDEL', KEYS[2], 'f'}, {'ZADD', KEYS[3], '1', 'v'}, {'ZREM', KEYS[3], 'v'},
      {'ZADD', KEYS[4], '1', 'v'}, {'ZREM', KEYS[4], 'v'}, {'ZCARD', KEYS[4]},
      {'ZRANGE', KEYS[4], '0', '1'}, {'ZADD', KEYS[5], '1', 'v'},
      {'ZREMRANGEBYRANK', KEYS[5], '0', '1'}, unpack(commands)}) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM no permission to run ' .. command[1] .. ' ' .. command[2])
    end
  end
end
local function read(list, first)
  local values = {}
  for begin = first, #list, 5000 do
    local keys = {}
    for i = begin, math.min(begin + 4999, #list), 5 do keys[#keys + 1] = list[i] end
    for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(keys))) do
      values[#values + 1] = value
    end
  end
  return values
end
local function add_to_counts(deltas, key, flag, present)
  local kind = string.match(key, '^[^:]*')
  local delta = 0
  if flag == '+' then
    if not present then delta = 1 end
  elseif present then
    delta = -1
  end
  deltas[kind] = (deltas[kind] or 0) + delta
end
local function store(list, first, sequence, time_text, floor, removed_kept)
  for begin = first, #list, 5000 do
    local stored, changed, removed, present = {}, {}, {}, {}
    for i = begin, math.min(begin + 4999, #list), 5 do
      sequence = sequence + 1
      local number = string.format('%.0f', sequence)
      stored[#stored + 1] = list[i]
      stored[#stored + 1] = number .. ' ' .. time_text .. ' ' .. list[i + 2] .. ' ' ..
          list[i + 3] .. ' ' .. list[i + 4]
      changed[#changed + 1] = number
      changed[#changed + 1] = list[i]
      if list[i + 3] == '-' then
        removed[#removed + 1] = number
        removed[#removed + 1] = list[i]
      else
        present[#present + 1] = list[i]
      end
    end
    redis.call('HSET', KEYS[2], unpack(stored))
    redis.call('ZADD', KEYS[3], unpack(changed))
    if #removed > 0 then redis.call('ZADD', KEYS[4], unpack(removed)) end
    if #present > 0 then redis.call('ZREM', KEYS[4], unpack(present)) end
  end
  local extra = redis.call('ZCARD', KEYS[4]) - removed_kept
  while extra > 0 do
    local oldest = redis.call('ZRANGE', KEYS[4], 0, math.min(extra, 1000) - 1, 'WITHSCORES')
    local keys = {}
    for i = 1, #oldest, 2 do keys[#keys + 1] = oldest[i] end
    redis.call('HDEL', KEYS[2], unpack(keys))
    redis.call('ZREM', KEYS[3], unpack(keys))
    redis.call('ZREM', KEYS[4], unpack(keys))
    floor = oldest[#oldest]
    extra = extra - #keys
  end
  return sequence, floor
end
)";

/// After kStoreRecordsFunctions.
/// KEYS: state, records, changes, removed, writes, audit. ARGV: expected last audit record ('' for
/// none), new audit record ('': none), audit records kept, channel, nonce, removed records kept,
/// writes kept, number of kinds; for each kind its name and the most records; for each write key,
/// expected sequence number ('' for any), microseconds of its expiry (0: never), flag, text.
/// Returns {status, epoch, sequence, time, last audit record, index, found}; status 1: written, 2:
/// another audit record, 3: another record than expected, 4: too many of a kind, 5: a batch is not
/// complete
/// (`found` is its nonce).
inline constexpr std::string_view kWriteRecordsScript = R"(
local wrong = problem({'list'}, {{'RPUSH', KEYS[6], 'v'}, {'LTRIM', KEYS[6], '0', '1'}})
if wrong then return wrong end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local state = redis.call('HMGET', KEYS[1], 'format', 'epoch', 'sequence', 'time', 'floor', 'batch')
if state[1] and tonumber(state[1]) > 1 then
  return redis.error_reply('ERR ' .. KEYS[1] .. ' has records of a newer format')
end
local epoch = state[2] or '1'
local sequence = tonumber(state[3] or '0')
local time = math.max(now, tonumber(state[4] or '0') + 1)
local last = redis.call('LINDEX', KEYS[6], -1) or ''
local function result(status, index, found)
  return {status, epoch, string.format('%.0f', sequence), state[4] or '0', last, index, found}
end
if state[6] then return result(5, 0, state[6]) end
local first = 9 + 2 * tonumber(ARGV[8])
local limits, counts, deltas = {}, {}, {}
for i = 9, first - 1, 2 do limits[ARGV[i]] = tonumber(ARGV[i + 1]) end
local values = read(ARGV, first)
for i = first, #ARGV, 5 do
  local value = values[(i - first) / 5 + 1]
  local found, present = '0', false
  if value then
    local number, expires, flag = string.match(value, '^(%d+) %d+ (%d+) (.) ')
    if not number then
      return redis.error_reply('WRONGTYPE ' .. KEYS[2] .. ' ' .. ARGV[i] .. ' is no record')
    end
    present = flag == '+'
    if present and (expires == '0' or tonumber(expires) > now) then found = number end
  end
  if ARGV[i + 1] ~= '' and ARGV[i + 1] ~= found then return result(3, (i - first) / 5, found) end
  add_to_counts(deltas, ARGV[i], ARGV[i + 3], present)
end
for kind, delta in pairs(deltas) do
  counts[kind] = tonumber(redis.call('HGET', KEYS[1], 'count:' .. kind) or '0') + delta
  if delta > 0 and counts[kind] > (limits[kind] or 0) then
    for i = first, #ARGV, 5 do
      if string.match(ARGV[i], '^[^:]*') == kind then return result(4, (i - first) / 5, '0') end
    end
  end
end
local audited = ARGV[2] ~= ''
if audited and last ~= ARGV[1] then return result(2, 0, '0') end
local time_text = string.format('%.0f', time)
local floor
sequence, floor = store(ARGV, first, sequence, time_text, state[5] or '0', tonumber(ARGV[6]))
local sequence_text = string.format('%.0f', sequence)
redis.call('ZADD', KEYS[5], sequence_text, sequence_text .. ':' .. time_text .. ':' .. ARGV[5])
redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -tonumber(ARGV[7]) - 1)
for kind, count in pairs(counts) do redis.call('HSET', KEYS[1], 'count:' .. kind, count) end
if audited then
  redis.call('RPUSH', KEYS[6], ARGV[2])
  redis.call('LTRIM', KEYS[6], -tonumber(ARGV[3]), -1)
end
redis.call('HSET', KEYS[1], 'format', '1', 'epoch', epoch, 'sequence', sequence_text, 'time',
    time_text, 'floor', floor)
redis.pcall('PUBLISH', ARGV[4], 'records ' .. epoch .. '.' .. sequence_text)
return {1, epoch, sequence_text, time_text, ARGV[2], 0, '0'})";

/// After kStoreRecordsFunctions. Decides that a batch is to be stored.
/// KEYS: state, records, changes, removed, writes, audit, staged writes. ARGV: expected last audit
/// record, new audit record, audit records kept, nonce, number of staged values, milliseconds after
/// which they vanish if nobody completes the batch; for each kind its name, the most records, and
/// the records that the batch puts. Returns as kWriteRecordsScript; status 4: there may be too many
/// of a kind.
inline constexpr std::string_view kCommitBatchScript = R"(
local wrong = problem({'list', 'list'}, {{'RPUSH', KEYS[6], 'v'}, {'LTRIM', KEYS[6], '0', '1'},
    {'PEXPIRE', KEYS[7], '1'}, {'LRANGE', KEYS[7], '0', '1'}, {'LTRIM', KEYS[7], '0', '1'},
    {'HDEL', KEYS[1], 'f'}})
if wrong then return wrong end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local state = redis.call('HMGET', KEYS[1], 'format', 'epoch', 'sequence', 'time', 'batch')
if state[1] and tonumber(state[1]) > 1 then
  return redis.error_reply('ERR ' .. KEYS[1] .. ' has records of a newer format')
end
local epoch, sequence, time = state[2] or '1', state[3] or '0', state[4] or '0'
local last = redis.call('LINDEX', KEYS[6], -1) or ''
if state[5] then return {5, epoch, sequence, time, last, 0, state[5]} end
if redis.call('LLEN', KEYS[7]) ~= tonumber(ARGV[5]) then
  return redis.error_reply('ERR staged records are not complete')
end
for i = 7, #ARGV, 3 do
  local count = tonumber(redis.call('HGET', KEYS[1], 'count:' .. ARGV[i]) or '0')
  if ARGV[i + 2] ~= '0' and count + tonumber(ARGV[i + 2]) > tonumber(ARGV[i + 1]) then
    return {4, epoch, sequence, time, last, 0, '0'}
  end
end
if last ~= ARGV[1] then return {2, epoch, sequence, time, last, 0, '0'} end
redis.call('PEXPIRE', KEYS[7], ARGV[6])
redis.call('HSET', KEYS[1], 'format', '1', 'epoch', epoch, 'batch', ARGV[4], 'batch_sequence',
    sequence, 'batch_time', time, 'batch_at', string.format('%.0f', now))
redis.call('RPUSH', KEYS[6], ARGV[2])
redis.call('LTRIM', KEYS[6], -tonumber(ARGV[3]), -1)
return {1, epoch, sequence, time, ARGV[2], 0, '0'})";

/// After kStoreRecordsFunctions. Stores the next portion of a batch.
/// KEYS: state, records, changes, removed, writes, staged writes. ARGV: nonce, staged values of a
/// portion, removed records kept, writes kept, channel, microseconds without progress after which
/// the batch may be taken over. Returns 0: there is no such batch, 1: it is complete, 2: there is
/// more, 3: another process stores it, 4: its writes are lost.
inline constexpr std::string_view kApplyBatchScript = R"(
local wrong = problem({'list'}, {{'LTRIM', KEYS[6], '0', '1'}, {'HDEL', KEYS[1], 'f'}})
if wrong then return wrong end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local state = redis.call('HMGET', KEYS[1], 'batch', 'epoch', 'sequence', 'time', 'floor',
    'batch_at')
if state[1] ~= ARGV[1] then return 0 end
if now - tonumber(state[6]) < tonumber(ARGV[6]) then return 3 end
local list = redis.call('LRANGE', KEYS[6], 0, tonumber(ARGV[2]) - 1)
if #list == 0 then
  redis.call('HDEL', KEYS[1], 'batch', 'batch_sequence', 'batch_time', 'batch_at')
  return 4
end
local values, deltas = read(list, 1), {}
for i = 1, #list, 5 do
  local flag = string.match(values[(i - 1) / 5 + 1] or '', '^%d+ %d+ %d+ (.) ')
  add_to_counts(deltas, list[i], list[i + 3], flag == '+')
end
local time_text = string.format('%.0f', math.max(now, tonumber(state[4] or '0') + 1))
local sequence, floor = store(list, 1, tonumber(state[3] or '0'), time_text, state[5] or '0',
    tonumber(ARGV[3]))
for kind, delta in pairs(deltas) do
  redis.call('HSET', KEYS[1], 'count:' .. kind,
      tonumber(redis.call('HGET', KEYS[1], 'count:' .. kind) or '0') + delta)
end
redis.call('LTRIM', KEYS[6], ARGV[2], -1)
local more = redis.call('LLEN', KEYS[6]) > 0
local sequence_text = string.format('%.0f', sequence)
redis.call('HSET', KEYS[1], 'sequence', sequence_text, 'time', time_text, 'floor', floor,
    'batch_at', string.format('%.0f', now))
redis.call('ZADD', KEYS[5], sequence_text, sequence_text .. ':' .. time_text .. ':' .. ARGV[1] ..
    (more and '.' or ''))
redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -tonumber(ARGV[4]) - 1)
if more then return 2 end
redis.call('HDEL', KEYS[1], 'batch', 'batch_sequence', 'batch_time', 'batch_at')
redis.pcall('PUBLISH', ARGV[5], 'records ' .. state[2] .. '.' .. sequence_text)
return 1)";

/// KEYS: state, records, changes, writes. ARGV: epoch, sequence, time and snapshot of the cursor, 1
/// for removed ones in snapshots, count. Returns {format, epoch, sequence, time, now, history,
/// snapshot, last sequence number read, 1 if complete, then key and value of each record}; history
/// 0: the cursor is known, 1: too old, 2: diverged.
inline constexpr std::string_view kReadRecordsScript = R"(
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local state = redis.call('HMGET', KEYS[1], 'format', 'epoch', 'sequence', 'time', 'floor', 'batch')
local epoch, sequence = tonumber(state[2] or '0'), tonumber(state[3] or '0')
local floor = tonumber(state[5] or '0')
local at, snapshot = tonumber(ARGV[2]), tonumber(ARGV[4])
local history = 0
if at == 0 or tonumber(ARGV[1]) < epoch then
  history = 1
elseif tonumber(ARGV[1]) > epoch or at > sequence then
  history = 2
elseif snapshot ~= 0 then
  if floor > snapshot then history = 1 end
else
  local write = redis.call('ZRANGEBYSCORE', KEYS[4], ARGV[2], ARGV[2])[1]
  if write then
    if string.match(write, ':(%d+):') ~= ARGV[3] then
      history = 2
    elseif floor > at then
      history = 1
    end
  else
    local oldest = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
    history = (not oldest[2] or at < tonumber(oldest[2])) and 1 or 2
  end
end
if state[6] then
  if history ~= 0 or snapshot ~= 0 then
    return redis.error_reply('ERR a large write of records is not complete yet')
  end
  return {state[1] or '', state[2], ARGV[2], ARGV[3], string.format('%.0f', now), 0, '0', ARGV[2], 1}
end
if history ~= 0 then at, snapshot = 0, sequence end
local count = tonumber(ARGV[6])
local keys = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. string.format('%.0f', at), '+inf', 'LIMIT',
    0, count + 1)
local complete = 1
if #keys > count then
  complete = 0
  keys[#keys] = nil
end
local reply = {state[1] or '', state[2] or '0', state[3] or '0', state[4] or '0',
    string.format('%.0f', now), history, string.format('%.0f', snapshot), '0', complete}
local last = '0'
for begin = 1, #keys, 1000 do
  local some = {unpack(keys, begin, math.min(begin + 999, #keys))}
  local values = redis.call('HMGET', KEYS[2], unpack(some))
  for i, value in ipairs(values) do
    local number, expires, flag = string.match(value or '', '^(%d+) %d+ (%d+) (.) ')
    if not number then
      return redis.error_reply('WRONGTYPE ' .. KEYS[2] .. ' ' .. some[i] .. ' is no record')
    end
    last = number
    local absent = flag ~= '+' or (expires ~= '0' and tonumber(expires) <= now)
    if not (absent and tonumber(number) <= snapshot and ARGV[5] ~= '1') then
      reply[#reply + 1] = some[i]
      reply[#reply + 1] = value
    end
  end
end
reply[8] = last
return reply)";

/// KEYS: records and changes that are being restored. ARGV: milliseconds after which they vanish
/// unless the restore completes; for each record key, sequence number, value.
inline constexpr std::string_view kStageRecordsScript = R"(
local stored, changed = {}, {}
for i = 2, #ARGV, 3 do
  stored[#stored + 1] = ARGV[i]
  stored[#stored + 1] = ARGV[i + 2]
  changed[#changed + 1] = ARGV[i + 1]
  changed[#changed + 1] = ARGV[i]
end
redis.call('HSET', KEYS[1], unpack(stored))
redis.call('ZADD', KEYS[2], unpack(changed))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1)";

/// KEYS: state, records, changes, removed, writes, audit, staged records, staged changes. ARGV:
/// expected last audit record, new audit record, audit records kept, channel, nonce, expected
/// epoch, sequence and time, new epoch and sequence, number of records; for each kind its name and
/// count. Returns as kWriteRecordsScript.
inline constexpr std::string_view kRestoreRecordsScript = R"(
if redis.acl_check_cmd then
  for _, command in ipairs({{'DEL', KEYS[1]}, {'RENAME', KEYS[7], KEYS[2]}, {'PERSIST', KEYS[2]},
      {'ZADD', KEYS[5], '1', 'v'}, {'RPUSH', KEYS[6], 'v'}, {'LTRIM', KEYS[6], '0', '1'},
      {'HSET', KEYS[1], 'f', 'v'}}) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM no permission to run ' .. command[1] .. ' ' .. command[2])
    end
  end
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local state = redis.call('HMGET', KEYS[1], 'epoch', 'sequence', 'time')
local epoch, sequence, time = state[1] or '0', state[2] or '0', state[3] or '0'
local last = redis.call('LINDEX', KEYS[6], -1) or ''
if epoch ~= ARGV[6] or sequence ~= ARGV[7] or time ~= ARGV[8] then
  return {3, epoch, sequence, time, last, 0, '0'}
end
if last ~= ARGV[1] then return {2, epoch, sequence, time, last, 0, '0'} end
if redis.call('HLEN', KEYS[7]) ~= tonumber(ARGV[11]) then
  return redis.error_reply('ERR staged records are not complete')
end
local new_time = string.format('%.0f', math.max(now, tonumber(time) + 1))
redis.call('DEL', KEYS[1], KEYS[4], KEYS[5])
if ARGV[11] ~= '0' then
  redis.call('RENAME', KEYS[7], KEYS[2])
  redis.call('RENAME', KEYS[8], KEYS[3])
  redis.call('PERSIST', KEYS[2])
  redis.call('PERSIST', KEYS[3])
else
  redis.call('DEL', KEYS[2], KEYS[3])
end
redis.call('ZADD', KEYS[5], ARGV[10], ARGV[10] .. ':' .. new_time .. ':' .. ARGV[5])
redis.call('RPUSH', KEYS[6], ARGV[2])
redis.call('LTRIM', KEYS[6], -tonumber(ARGV[3]), -1)
for i = 12, #ARGV, 2 do redis.call('HSET', KEYS[1], 'count:' .. ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], 'format', '1', 'epoch', ARGV[9], 'sequence', ARGV[10], 'time', new_time,
    'floor', ARGV[10])
redis.pcall('PUBLISH', ARGV[4], 'records ' .. ARGV[9] .. '.' .. ARGV[10])
return {1, ARGV[9], ARGV[10], new_time, ARGV[2], 0, '0'})";

/// KEYS: reports of one name, their expiry. ARGV: node, microseconds to live, text. Removes expired
/// ones.
inline constexpr std::string_view kWriteReportScript = R"(
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now),
    'LIMIT', 0, 100)) do
  redis.call('HDEL', KEYS[1], node)
  redis.call('ZREM', KEYS[2], node)
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[2]), ARGV[1])
local ttl = math.ceil(ARGV[2] / 1000)
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('PEXPIRE', KEYS[2], ttl)
return 1)";

/// KEYS: reports of one name, their expiry. Returns node and text of each that has not expired.
inline constexpr std::string_view kReadReportsScript = R"(
local clock = redis.call('TIME')
local now = string.format('(%.0f', clock[1] * 1000000 + clock[2])
local reply = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf', 'LIMIT', 0, 1000)) do
  local text = redis.call('HGET', KEYS[1], node)
  if text then
    reply[#reply + 1] = node
    reply[#reply + 1] = text
  end
end
return reply)";

// NOLINTEND(readability-identifier-naming)

}  // namespace sluice::control
