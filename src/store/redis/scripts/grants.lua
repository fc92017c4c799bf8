-- Grants: units that are spent before the limit's own. A part of them may expire. See src/algo/state.h.
--
-- A state has `grant`, all of it; and, if a part expires, `expiring` and `expires`.

local grants = {}

function grants.is_over(expires)
  return expires and expires <= now
end

function grants.expire(state)
  if not state.expiring or now < state.expires then return end
  state.grant = state.grant - state.expiring
  state.expiring, state.expires = nil, nil
end

-- Until `expires`; nil: for ever. Two parts that expire become one, which ends with the earlier.
function grants.add(state, amount, expires)
  if grants.is_over(expires) then return end
  amount = min(amount, MAX - state.grant)
  state.grant = state.grant + amount
  if not expires or amount == 0 then return end
  state.expires = state.expiring and min(state.expires, expires) or expires
  state.expiring = (state.expiring or 0) + amount
end

-- First of the part that expires. Returns when that does; nil: nothing was taken of it.
function grants.take(state, amount)
  state.grant = state.grant - amount
  if not state.expiring or amount == 0 then return nil end
  local expires = state.expires
  state.expiring = state.expiring - min(amount, state.expiring)
  if state.expiring == 0 then state.expiring, state.expires = nil, nil end
  return expires
end

-- Until when a key must be kept that is fresh from `fresh` on.
function grants.stays_until(state, fresh)
  if state.grant == 0 then return fresh end
  if state.grant > (state.expiring or 0) then return MAX end
  return max(fresh, state.expires)
end
