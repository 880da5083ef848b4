-- SPDX-License-Identifier: Apache-2.0
--
-- Reads the body of an aggregator's partial sum in format native (spec/protocol.md R-042). Returns
-- a function that makes the reader.

local PARTS_MAX, PAIRS_MAX = 32, 12

-- Returns why a chunk with this layout cannot have such a part, or nothing.
local function refusal(layout, head)
  local is_f64, rows_end = layout.data_type == "f64", head.first_row + head.rows
  if head.parts == 0 or head.parts > PARTS_MAX then return "No such number of parts" end
  if head.part >= head.parts then return "A part beyond the last" end
  if head.reserved ~= 0 then return "The last bytes of the head are not 0" end
  if head.part > 0 then
    if head.lows ~= 0 then return "Second binary64 outside part 0" end
    if head.rows == 0 then return "A part without rows" end
    if rows_end > layout.rows then return "A row beyond the last" end
    return nil
  end
  if rows_end > 0 then return "Rows in part 0" end
  if head.lows > (is_f64 and layout.elements or math.min(PAIRS_MAX, layout.elements)) or
     (is_f64 and head.lows ~= 0 and head.lows ~= layout.elements) then
    return "No such number of second binary64"
  end
end

return function(tables, layouts, fields, malformed, padding)
  -- Shows binary64 numbers that follow each other. `places` has the element of each.
  local function doubles(context, reader, tree, title, field, places)
    if #places == 0 then return end
    local range = reader:take(8 * #places)
    local list = tree:add(fields.doubles_list, range)
    list:set_text(string.format("%s: %d", title, #places))
    if not context.shows(list, field) then return end
    for i, place in ipairs(places) do
      local one = range(8 * (i - 1), 8)
      list:add_le(field, one):set_text(string.format("[%d] %.17g", place, one:le_float()))
    end
  end

  -- Returns the elements that have a second binary64.
  local function indices(context, reader, tree, count)
    if count == 0 then return {} end
    local start, range, found, least, wrong = reader.at, reader:take(2 * count), {}, 0, false
    local list = tree:add(fields.indices_list, range)
    for i = 1, count do
      local one = range(2 * (i - 1), 2)
      local index = one:le_uint()
      found[i] = index
      wrong = wrong or index < least or index >= context.layout.elements
      least = index + 1
      list:add_le(fields.second_at, one)
    end
    if wrong then list:add_proto_expert_info(malformed.exact, "No such pairs (R-042)") end
    padding(reader, tree, start, 8, malformed.exact)
    return found
  end

  local function rows(context, reader, tree, head)
    local layout = context.layout
    if layout.elements == 0 then return end
    for row = head.first_row, head.first_row + head.rows - 1 do
      local range, unit = reader:take(4 * layout.elements), layout.row_exponent + 32 * row
      local item = tree:add(fields.row, range, row)
      item:set_text(string.format("Row %d, of multiples of 2^%d", row, unit))
      for i = 0, context.shows(item, fields.digit) and layout.elements - 1 or -1 do
        local one = range(4 * i, 4)
        local value = layouts.scaled(one:le_int(), unit)
        item:add_le(fields.digit, one):set_text(
          string.format("[%d] %d = %.17g", i, one:le_int(), value))
      end
    end
  end

  return function(context, reader, tree)
    local layout, head, range = context.layout, {}, reader:take(8)
    for _, field in ipairs(tables.exact) do
      local one = range(field[1], field[2])
      head[field[3]] = one:uint()
      tree:add(fields["exact." .. field[3]], one)
    end
    local why = refusal(layout, head)
    if why then
      tree:add_proto_expert_info(malformed.exact, why .. " (R-042)")
      return reader:skip()
    end
    if head.parts > 1 then
      context.info[#context.info + 1] = string.format("part %d of %d", head.part, head.parts)
    end
    if head.part > 0 then return rows(context, reader, tree, head) end
    local all = {}
    for i = 1, layout.elements do all[i] = i - 1 end
    doubles(context, reader, tree, "Binary64", fields.double, all)
    local places = all
    if layout.data_type ~= "f64" then places = indices(context, reader, tree, head.lows) end
    if head.lows > 0 then
      doubles(context, reader, tree, "Second binary64", fields.second, places)
    end
  end
end
