-- Forward-auth for HAProxy, which has none itself: asks Sluice about a call, relays a denial
-- unchanged, and puts the headers of an allowed response in txn.sluice_limit, _remaining and _reset.

local url = "http://127.0.0.1:8080/v1/auth"                   -- yours
local timeout_ms = 100                                        -- After this, Sluice counts as down.
local fail_open = true                                        -- false: 503 while Sluice is down.
local about_the_caller = {"x-api-key", "authorization", "accept"}  -- yours: forwarded unchanged

local function ask(txn)
  -- These are set here, so that none of them can come from the client.
  local sent = {
    ["x-forwarded-method"] = {txn.sf:method()},
    ["x-forwarded-uri"] = {txn.sf:pathq()},
    ["x-forwarded-host"] = {txn.sf:req_hdr("host")},
    ["x-forwarded-for"] = {txn.sf:src()},
  }
  local headers = txn.http:req_get_headers()
  for _, name in ipairs(about_the_caller) do sent[name] = headers[name] end
  return core.httpclient():get{url = url, headers = sent, timeout = timeout_ms}
end

-- If HAProxy can't reach Sluice, it generates a 5xx without X-Sluice-Status. A request that Sluice
-- could not parse gets a 4xx without it, and must not pass.
local function is_from_sluice(answer)
  if not (answer and answer.status and answer.headers) then return false end
  return answer.headers["x-sluice-status"] or (answer.status >= 400 and answer.status < 500)
end

local not_relayed = {
  ["connection"] = true, ["content-length"] = true, ["date"] = true, ["transfer-encoding"] = true,
}

local function deny(txn, answer)
  local reply = txn:reply{status = answer.status}
  for name, values in pairs(answer.headers) do
    if not not_relayed[name] then
      for _, value in pairs(values) do reply:add_header(name, value) end
    end
  end
  reply:set_body(answer.body)
  txn:done(reply)
end

core.register_action("sluice", {"http-req"}, function(txn)
  local answer = ask(txn)
  if not is_from_sluice(answer) then
    if not fail_open then txn:done(txn:reply{status = 503}) end
    return
  end
  if answer.status ~= 200 then return deny(txn, answer) end
  for _, name in ipairs({"limit", "remaining", "reset"}) do
    local values = answer.headers["x-ratelimit-" .. name]
    if values then txn:set_var("txn.sluice_" .. name, values[0]) end
  end
end)
