-- Whole numbers in doubles: exact up to 2^53, and what is larger is never trusted to be.

local MAX = 9007199254740992  -- 2^53: the largest amount
local MAX_WAIT = MAX - 1
local CLOCK_TOLERANCE = 1000000
local MAX_TIME = 4503599627370496  -- 2^52

local floor, fmod, min, max = math.floor, math.fmod, math.min, math.max

-- floor(a / b) for 0 <= a <= 2^53, b > 0. The remainder is exact, so the quotient is, too; floor(a / b)
-- alone would be one too large where a / b rounds up to a whole number.
local function div(a, b)
  return (a - fmod(a, b)) / b
end

local function ceil_div(a, b)
  local rest = fmod(a, b)
  local quotient = (a - rest) / b
  if rest > 0 then return quotient + 1 end
  return quotient
end
