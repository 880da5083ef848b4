-- SPDX-License-Identifier: Apache-2.0
--
-- The layout and the values of elements in a packet (spec/protocol.md, sections 3 and 7). These are
-- pure functions of numbers. They use neither bit operators nor integers, because Lua 5.2 lacks
-- both.

local function code_of(names, wanted)
  for code, name in pairs(names) do
    if name == wanted then return code end
  end
end

-- Bit k of a number, counted from the lowest.
local function bit_of(number, k) return math.floor(number / 2 ^ k) % 2 end

-- Returns number x 2^exponent, by two multiplications, because a single factor could be 0.
local function scaled(number, exponent)
  local half = math.floor(exponent / 2)
  return number * 2 ^ half * 2 ^ (exponent - half)
end

-- Exponent and fraction bits of the floats.
local FLOATS = {f16 = {5, 10}, bf16 = {8, 7}, f32 = {8, 23}, f64 = {11, 52}}
local DATA_BYTES = {f32 = 4, f16 = 2, bf16 = 2, f64 = 8, i8 = 1, u8 = 1, i32 = 4, i64 = 8}

-- The float with these 32 upper and 32 lower bits. Only `bytes` bytes count.
local function float_of(name, upper, lower, bytes)
  local exponent_bits, fraction_bits = FLOATS[name][1], FLOATS[name][2]
  if bytes < 8 then upper, lower = lower * 2 ^ (32 - 8 * bytes), 0 end
  local negative = upper >= 2 ^ 31
  local rest = upper % 2 ^ 31
  local unit = 2 ^ (31 - exponent_bits)
  local exponent = math.floor(rest / unit)
  -- Bits below the format's own are 0.
  local fraction = ((rest % unit) * 2 ^ 32 + lower) / (unit * 2 ^ 32)
  local bias = 2 ^ (exponent_bits - 1) - 1
  local value
  if exponent == 2 ^ exponent_bits - 1 then
    value = fraction == 0 and math.huge or 0 / 0
  elseif exponent == 0 then
    value = scaled(fraction * 2 ^ fraction_bits, 1 - bias - fraction_bits)
  else
    value = scaled((1 + fraction) * 2 ^ fraction_bits, exponent - bias - fraction_bits)
  end
  return negative and -value or value
end

-- The layout of a chunk's elements by its signature. Requires: the codes are known.
local function layout_of(tables, signature)
  local limits = tables.limits
  local format = tables.wire_formats[signature.format]
  local data_type = tables.data_types[signature.data_type]
  local is_f64 = data_type == "f64"
  local is_block, is_native = format:match("^bfp") ~= nil, format == "native"
  local layout = {
    format = format,
    data_type = data_type,
    is_block = is_block,
    is_native = is_native,  -- elements are floats of the data type (R-041)
    collective = tables.collectives[signature.collective],
    reduction = tables.reductions[signature.reduction],
    element_bytes = is_native and DATA_BYTES[data_type] or tonumber(format:match("%d+")) / 8,
    block_elements = is_f64 and limits.block_elements_f64 or limits.block_elements,
    -- Integers have no codes, even where their blocks are counted.
    code_bytes = not is_block and 0 or is_f64 and 2 or 1,
    bias = is_f64 and limits.exponent_bias_f64 or limits.exponent_bias,
    code_max = is_f64 and limits.exponent_code_max_f64 or limits.exponent_code_max,
    elements = signature.elements,
    -- How many rows a partial sum of native has, and the exponent of row 0's unit (R-042).
    rows = is_f64 and 66 or 9,
    row_exponent = is_f64 and -1074 or -149,
  }
  layout.blocks = math.ceil(signature.elements / layout.block_elements)
  return layout
end

-- The exponent of the value of mantissa 1 in a block with this code (R-027).
local function unit_exponent(layout, code)
  return code - layout.bias - (8 * layout.element_bytes - 2)
end

-- A mantissa's value (R-026, R-029). An average is not yet divided.
local function mantissa_value(layout, mantissa, code, has_specials)
  local largest = 2 ^ (8 * layout.element_bytes - 1) - 1
  if has_specials and mantissa == -largest - 1 then return 0 / 0 end
  if has_specials and mantissa == largest then return math.huge end
  if has_specials and mantissa == -largest then return -math.huge end
  if code == 0 then return 0 end
  return scaled(mantissa, unit_exponent(layout, code))
end

-- The tensor's value of an element that is an integer, or a float of native. Returns nothing if the
-- packet alone does not have the value, as with agreed exponents (R-040) and with digits (R-043).
-- `upper` and `lower` are the element's bits, and `number` is the signed integer.
local function integer_value(layout, number, upper, lower)
  local bytes = layout.element_bytes
  if layout.is_native then return float_of(layout.data_type, upper, lower, bytes) end
  if DATA_BYTES[layout.data_type] ~= bytes then return nil end
  local is_ordered = layout.reduction == "min" or layout.reduction == "max"
  local is_copied = layout.collective == "broadcast"
  if layout.data_type == "u8" then
    if is_ordered and not is_copied then return number + 128 end
    return number % 256
  end
  if not FLOATS[layout.data_type] then return number end
  if is_copied then return float_of(layout.data_type, upper, lower, bytes) end
  if not is_ordered then return nil end
  if number < 0 then  -- The order of R-025 inverts all bits but the sign.
    if bytes == 8 then
      upper, lower = 2 ^ 31 + (2 ^ 31 - 1 - upper % 2 ^ 31), 2 ^ 32 - 1 - lower
    else
      local sign = 2 ^ (8 * bytes - 1)
      lower = sign + (sign - 1 - lower % sign)
    end
  end
  return float_of(layout.data_type, upper, lower, bytes)
end

return {
  bit_of = bit_of,
  code_of = code_of,
  layout_of = layout_of,
  unit_exponent = unit_exponent,
  mantissa_value = mantissa_value,
  integer_value = integer_value,
  scaled = scaled,
}
