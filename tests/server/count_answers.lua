-- For wrk: what became of its requests, as one line of JSON.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init()
  allowed, denied, other = 0, 0, 0
end

function response(status)
  if status == 200 then
    allowed = allowed + 1
  elseif status == 429 then
    denied = denied + 1
  else
    other = other + 1
  end
end

function done(summary)
  local sum = { allowed = 0, denied = 0, other = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do
      sum[name] = sum[name] + thread:get(name)
    end
  end
  local errors = summary.errors
  print(string.format('{"allowed":%d,"denied":%d,"other":%d,"lost":%d}', sum.allowed, sum.denied, sum.other,
    errors.connect + errors.read + errors.write + errors.timeout))
end
