-- For wrk: requests of every kind in turn, some of them wrong. The first argument is a token for who brings one.

local requests = {}
local turn = 0

local function add(method, path, headers, body)
  headers["Content-Type"] = body and "application/json" or nil
  table.insert(requests, wrk.format(method, path, headers, body))
end

local function forwarded(method, url, key, address)
  return { [method] = "GET", [url] = "http://h/search?q=1", ["X-API-Key"] = key, ["X-Forwarded-For"] = address }
end

function init(arguments)
  local check = "/api/v1/rate-limit/check"
  for number = 1, 20 do
    local key = "key-" .. number
    add("GET", check .. "?receipt=true&key=" .. key, {})
    add("POST", check, {}, '{"attributes":{"api_key":"' .. key .. '","endpoint":"/search"},"cost":2}')
    add("POST", check, {}, '{"key":"' .. key .. '","limit":{"algorithm":"token_bucket","capacity":2,"refill_rate":9}}')
    add("GET", "/v1/auth", forwarded("X-Forwarded-Method", "X-Forwarded-Uri", key, "192.0.2." .. number))
    add("GET", "/v1/auth/ingress-nginx", forwarded("X-Original-Method", "X-Original-URL", key, "2001:db8::" .. number))
    add("POST", "/api/v1/rate-limit/acquire", {}, '{"attributes":{"api_key":"' .. key .. '","endpoint":"/jobs"}}')
    add("GET", "/api/v1/rate-limit/remaining?key=" .. key, {})
  end
  add("GET", "/api/ping", { Authorization = "Bearer " .. arguments[1] })
  add("GET", "/api/ping", { Authorization = "Bearer " .. arguments[1] .. "x" })
  add("GET", "/metrics", {})
  add("GET", "/admin/inspect?api_key=key-1", {})
  add("POST", check, {}, '{"attributes":{"api_key":')
  add("POST", "/api/v1/rate-limit/settle", {}, '{"receipt":"forged","cost":1}')
  add("GET", "/nowhere", {})
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary)
  local errors = summary.errors
  print(errors.connect + errors.read + errors.write + errors.timeout)
end
