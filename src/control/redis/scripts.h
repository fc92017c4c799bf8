#pragma once

#include <string_view>

/// The Lua scripts of the control store. The commit checks the types of its keys, and from Redis 7
/// on its permissions, before it writes: it runs as a whole or not at all.
namespace sluice::control {

// NOLINTBEGIN(readability-identifier-naming)

/// KEYS: pointer, versions, texts, ids, audit. ARGV: expected pointer ('' for none), new pointer,
/// id, version record, text, expected last audit record ('' for none), new audit record, versions
/// kept, audit records kept, channel. Returns {status, pointer, last audit record}; status 1:
/// committed, 0: another pointer, 2: another audit record.
inline constexpr std::string_view kCommitScript = R"(
local types = {'string', 'hash', 'hash', 'list', 'list'}
for i, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  if type ~= 'none' and type ~= types[i] then
    return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. type)
  end
end
if redis.acl_check_cmd then
  for _, command in ipairs({{'HSET', KEYS[2], 'f', 'v'}, {'HSET', KEYS[3], 'f', 'v'},
      {'RPUSH', KEYS[4], 'v'}, {'LLEN', KEYS[4]}, {'LPOP', KEYS[4]}, {'HDEL', KEYS[2], 'f'},
      {'RPUSH', KEYS[5], 'v'}, {'LTRIM', KEYS[5], '0', '1'}, {'SET', KEYS[1], 'v'}}) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM no permission to run ' .. command[1] .. ' ' .. command[2])
    end
  end
end
local current = redis.call('GET', KEYS[1]) or ''
local last = redis.call('LINDEX', KEYS[5], -1) or ''
if current ~= ARGV[1] then return {0, current, last} end
if last ~= ARGV[6] then return {2, current, last} end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
redis.call('HSET', KEYS[3], ARGV[3], ARGV[5])
redis.call('RPUSH', KEYS[4], ARGV[3])
while redis.call('LLEN', KEYS[4]) > tonumber(ARGV[8]) do
  local oldest = redis.call('LPOP', KEYS[4])
  redis.call('HDEL', KEYS[2], oldest)
  redis.call('HDEL', KEYS[3], oldest)
end
redis.call('RPUSH', KEYS[5], ARGV[7])
redis.call('LTRIM', KEYS[5], -tonumber(ARGV[9]), -1)
redis.call('SET', KEYS[1], ARGV[2])
redis.pcall('PUBLISH', ARGV[10], ARGV[3])
return {1, ARGV[2], ARGV[7]})";

/// KEYS: audit. ARGV: expected last record ('' for none), new record, records kept. Returns
/// {status, last record}; status 1: appended, 2: another record.
inline constexpr std::string_view kAppendScript = R"(
local last = redis.call('LINDEX', KEYS[1], -1) or ''
if last ~= ARGV[1] then return {2, last} end
redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[3]), -1)
return {1, ARGV[2]})";

/// KEYS: audit. ARGV: sequence number below which to read (0: all), count. Returns records, the
/// oldest first.
inline constexpr std::string_view kReadAuditScript = R"(
local last = redis.call('LINDEX', KEYS[1], -1)
if not last then return {} end
local newest = tonumber(string.match(last, '^{"sequence":(%d+),'))
if not newest then return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' has other values') end
local skip = 0
local before = tonumber(ARGV[1])
if before > 0 and before <= newest then skip = newest - before + 1 end
if skip >= redis.call('LLEN', KEYS[1]) then return {} end
return redis.call('LRANGE', KEYS[1], -skip - tonumber(ARGV[2]), -skip - 1))";

/// KEYS: nodes, seen. ARGV: id, record, microseconds for which nodes are listed. Returns the time
/// in microseconds.
inline constexpr std::string_view kWriteNodeScript = R"(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
redis.call('HSET', KEYS[1], ARGV[1], now_text .. ' ' .. ARGV[2])
redis.call('ZADD', KEYS[2], now_text, ARGV[1])
local gone = string.format('(%.0f', now - ARGV[3])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', gone, 'LIMIT', 0, 10)) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
redis.call('PEXPIRE', KEYS[1], ARGV[3] / 1000)
redis.call('PEXPIRE', KEYS[2], ARGV[3] / 1000)
return now_text)";

/// KEYS: nodes, seen. ARGV: id. Returns whether there was one.
inline constexpr std::string_view kRemoveNodeScript = R"(
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1]))";

// NOLINTEND(readability-identifier-naming)

}  // namespace sluice::control
