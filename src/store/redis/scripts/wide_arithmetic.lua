-- Arithmetic that plain checks don't need: products beyond 2^53, numbers as text, waits.

-- The product of a <= 2^53 and b <= 2^52 as three digits to the base 2^26.
local BASE = 67108864
local function product(a, b)
  local a0, b0 = fmod(a, BASE), fmod(b, BASE)
  local a1, b1 = (a - a0) / BASE, (b - b0) / BASE
  local low, cross1, cross2 = a0 * b0, a1 * b0, a0 * b1
  local digit0 = fmod(low, BASE)
  local middle = fmod(cross1, BASE) + fmod(cross2, BASE) + (low - digit0) / BASE
  local digit1 = fmod(middle, BASE)
  local high = a1 * b1 + div(cross1, BASE) + div(cross2, BASE) + (middle - digit1) / BASE
  return high, digit1, digit0
end

-- Whether a * b <= c * d, exactly.
local function product_at_most(a, b, c, d)
  local high1, middle1, low1 = product(a, b)
  local high2, middle2, low2 = product(c, d)
  if high1 ~= high2 then return high1 < high2 end
  if middle1 ~= middle2 then return middle1 < middle2 end
  return low1 <= low2
end

-- floor(a * b / c) for a <= 2^53, b <= 2^52, c <= 2^53, where the result is at most 2^53: doubles come
-- within a few of it, and exact products decide which way to go.
local function mul_div(a, b, c)
  local exact = a * b
  if exact < MAX then return div(exact, c) end
  -- Never above 2^53, where one more is no other number and a loop would not end.
  local quotient = min(floor(exact / c), MAX)
  while not product_at_most(c, quotient, a, b) do quotient = quotient - 1 end
  while quotient < MAX and product_at_most(c, quotient + 1, a, b) do quotient = quotient + 1 end
  return quotient
end

local function mul_div_ceil(a, b, c)
  local quotient = mul_div(a, b, c)
  if product_at_most(a, b, c, quotient) then return quotient end
  return quotient + 1
end

-- Doubles are printed whole; tostring would round them to 14 digits.
local function text(number)
  return string.format('%.0f', number)
end

-- How long from now until a moment; moments past what is exact are "never".
local function wait_until(now, moment)
  if moment >= MAX then return MAX_WAIT end
  return max(moment - now, 0)
end
