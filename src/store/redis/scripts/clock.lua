-- What time it is: Redis' own clock says, or the caller (see README.md).

local now = tonumber(ARGV[1])
local clock_is_redis = not now
if clock_is_redis then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
now = max(0, min(now, MAX_TIME))

-- In how many milliseconds a key may go that is as if never used from `fresh` on: rounded up and never zero;
-- nil: it stays.
local function time_to_live(fresh)
  if fresh >= MAX or not clock_is_redis then return nil end
  return max(ceil_div(fresh - now, 1000), 1)
end

local function set_until(key, value, fresh)
  local ttl = time_to_live(fresh)
  if ttl then redis.call('SET', key, value, 'PX', ttl) else redis.call('SET', key, value) end
end
