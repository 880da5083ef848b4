-- SPDX-License-Identifier: Apache-2.0
--
-- Reads the bodies of infold's packets from front to back (spec/protocol.md, sections 2, 3 and 7).
-- Returns a function that makes the dissector of bodies.

-- The reasons why reading ends before the body does.
local CUT_SHORT = {}   -- the capture has no more bytes of this packet
local TOO_SHORT = {}   -- the packet itself has no more bytes

-- A place in a packet, which moves on as bytes are read.
local Reader = {}
Reader.__index = Reader

local function reader_of(tvb, at)
  return setmetatable({tvb = tvb, at = at, stop = tvb:reported_len()}, Reader)
end

-- Ends reading, because the following bytes cannot be read.
function Reader:skip() self.at = self.stop end

function Reader:left() return self.stop - self.at end

-- Returns the next bytes. Requires: count > 0.
function Reader:take(count)
  if count > self:left() then error(TOO_SHORT, 0) end
  if self.at + count > self.tvb:len() then error(CUT_SHORT, 0) end
  self.at = self.at + count
  return self.tvb(self.at - count, count)
end

-- Writes rising numbers as "0-3, 7".
local function ranges_text(numbers)
  local parts, first = {}, 1
  for i = 1, #numbers do
    if numbers[i + 1] ~= numbers[i] + 1 then
      local from, to = numbers[first], numbers[i]
      parts[#parts + 1] = from == to and tostring(from) or from .. "-" .. to
      first = i + 1
    end
  end
  return #parts > 0 and table.concat(parts, ", ") or "none"
end

-- `make_exact` is what exact.lua returns.
return function(tables, layouts, fields, malformed, make_exact)
  local limits = tables.limits

  -- Returns the numbers below `count` whose bits are set, and whether a bit beyond is set.
  local function members(range, count)
    local found, beyond = {}, false
    for at = 0, range:len() - 1 do
      local byte = range(at, 1):uint()
      for bit = 0, byte > 0 and 7 or -1 do
        if layouts.bit_of(byte, bit) == 1 then
          local number = 8 * at + bit
          if number < count then found[#found + 1] = number else beyond = true end
        end
      end
    end
    return found, beyond
  end

  -- Shows an element, with its value if the packet has it.
  local function show_element(context, tree, range, index, code)
    local layout, bytes = context.layout, range:len()
    local lower = range(0, math.min(bytes, 4)):le_uint()
    local upper = bytes == 8 and range(4, 4):le_uint() or 0
    local number
    if bytes == 8 then
      number = range:le_int64():tonumber()
    else
      number = range:le_int()
    end
    local value
    if layout.is_block then
      value = layouts.mantissa_value(layout, number, code, context.has_specials)
    else
      value = layouts.integer_value(layout, number, upper, lower)
    end
    local item = tree:add_le(fields.element, range)
    if layout.is_native then
      item:set_text(string.format("[%d] %.17g", index, value))
      item:add(fields.value, range, value)
      return
    end
    if value == nil then
      item:set_text(string.format("[%d] %s", index, tostring(range:le_int64())))
      return
    end
    item:set_text(string.format("[%d] %s = %.9g", index, tostring(range:le_int64()), value))
    item:add(fields.value, range, value)
  end

  -- Shows elements that follow each other in the packet: the runs {first, count} of the chunk.
  -- `code_at` gives the code of a block.
  local function elements(context, reader, tree, runs, code_at)
    local size, total = context.layout.element_bytes, 0
    for _, run in ipairs(runs) do total = total + run[2] end
    if total == 0 then return end
    local range, at = reader:take(total * size), 0
    local list = tree:add(fields.elements_list, range)
    list:append_text(string.format(" (%d of %s)", total, context.layout.format))
    if not context.shows(list, fields.element) then return end
    for _, run in ipairs(runs) do
      for place = run[1], run[1] + run[2] - 1 do
        local block = math.floor(place / context.layout.block_elements)
        show_element(context, list, range(at, size), place, code_at[block])
        at = at + size
      end
    end
  end

  local function padding(reader, tree, start, unit, finding)
    local bytes = -(reader.at - start) % unit
    if bytes == 0 then return end
    local range = reader:take(bytes)
    local item = tree:add(fields.padding, range)
    for at = 0, bytes - 1 do
      if range(at, 1):uint() ~= 0 then
        item:add_proto_expert_info(finding or malformed.reserved, "Padding is not 0 (R-004)")
        return
      end
    end
  end

  -- Shows the exponent codes of these blocks, but not the padding after them. Returns {block:
  -- code}.
  local function codes(context, reader, tree, field, blocks)
    local layout, found = context.layout, {}
    if #blocks == 0 or layout.code_bytes == 0 then return found end
    local range, wrong = reader:take(#blocks * layout.code_bytes), false
    local list = tree:add(fields.codes_list, range)
    list:set_text(string.format("%s: %d", field.title, #blocks))
    local is_shown = context.shows(list, field.field)
    for i, block in ipairs(blocks) do
      local one = range((i - 1) * layout.code_bytes, layout.code_bytes)
      local code = one:uint()
      found[block] = code
      wrong = wrong or code > layout.code_max
      if is_shown then
        local unit = layouts.unit_exponent(layout, code)
        local worth = code > 0 and string.format(", unit 2^%d", unit) or ""
        list:add(field.field, one):set_text(string.format("Block %d: %d%s", block, code, worth))
      end
    end
    if wrong then list:add_proto_expert_info(malformed.codes, "No such exponent code (R-027)") end
    return found
  end

  local exact = make_exact(tables, layouts, fields, malformed, padding)

  local function numbers_to(count)
    local all = {}
    for i = 1, count do all[i] = i - 1 end
    return all
  end

  local CODES = {field = fields.code, title = "Exponent codes"}
  local LOW = {field = fields.low_code, title = "Lowest exponent codes"}
  local HIGH = {field = fields.high_code, title = "Highest exponent codes"}

  local function dense(context, reader, tree, has_elements)
    local start, layout = reader.at, context.layout
    local found = codes(context, reader, tree, CODES, numbers_to(layout.blocks))
    padding(reader, tree, start, 4)
    if has_elements then
      elements(context, reader, tree, {{0, layout.elements}}, found)
    end
  end

  -- Shows one of the two sets of a partial sum (R-051).
  local function special_set(context, reader, tree, field)
    local count = context.layout.elements
    if count == 0 then return end
    local range = reader:take(8 * math.ceil(count / 64))
    local found, beyond = members(range, count)
    local item = tree:add(field, range)
    item:append_text(": elements " .. ranges_text(found))
    if beyond then
      item:add_proto_expert_info(malformed.reserved, "A bit of no element (R-051)")
    end
  end

  local function partial(context, reader, tree)
    local start, layout = reader.at, context.layout
    local all = numbers_to(layout.blocks)
    local low = codes(context, reader, tree, LOW, all)
    codes(context, reader, tree, HIGH, all)
    padding(reader, tree, start, 8)
    if layout.elements > 0 then
      local range = reader:take(8 * layout.elements)
      local list = tree:add(fields.lanes_list, range)
      list:append_text(string.format(" (%d of 64 bits)", layout.elements))
      for i = 0, context.shows(list, fields.lane) and layout.elements - 1 or -1 do
        local lane = range(8 * i, 8)
        local code = low[math.floor(i / layout.block_elements)]
        local unit = layouts.unit_exponent(layout, code)
        local value = code == 0 and 0 or layouts.scaled(lane:le_int64():tonumber(), unit)
        local item = list:add_le(fields.lane, lane)
        item:set_text(string.format("[%d] %s = %.9g", i, tostring(lane:le_int64()), value))
        item:add(fields.value, lane, value)
      end
    end
    if context.has_specials then
      special_set(context, reader, tree, fields.plus)
      special_set(context, reader, tree, fields.minus)
    end
  end

  -- Returns the numbers of the chunk's blocks that follow. If the set has a block that does not
  -- exist, also returns the set's item.
  local function block_set(context, reader, tree)
    local range = reader:take(4 * math.ceil(context.layout.blocks / 32))
    local found, beyond = members(range, context.layout.blocks)
    local item = tree:add(fields.block_set, range)
    item:append_text(": blocks " .. ranges_text(found))
    return found, beyond and item or nil
  end

  local function refuse_set(reader, item)
    item:add_proto_expert_info(malformed.sparse, "A block that the chunk does not have (R-018)")
    reader:skip()
  end

  -- Returns a run of these elements, cut off at the chunk's last element.
  local function run_of(context, first, count)
    return {first, math.min(count, context.layout.elements - first)}
  end

  -- Reads whole blocks (R-018). The sets of all chunks come first.
  local function whole_blocks(context, reader, chunks)
    local present, wrong = {}, {}
    for i, tree in ipairs(chunks) do present[i], wrong[i] = block_set(context, reader, tree) end
    local size = context.layout.block_elements
    for i, tree in ipairs(chunks) do
      if wrong[i] then return refuse_set(reader, wrong[i]) end
      local start, runs = reader.at, {}
      local found = codes(context, reader, tree, CODES, present[i])
      padding(reader, tree, start, 4)
      for _, block in ipairs(present[i]) do
        runs[#runs + 1] = run_of(context, size * block, size)
      end
      elements(context, reader, tree, runs, found)
    end
  end

  -- Returns the four bits of each block as a list, or nothing if they are not allowed (R-019).
  local function quarter_bits(context, reader, tree, present)
    if #present == 0 then return {} end
    local range, found = reader:take(math.ceil(#present / 2)), {}
    local list = tree:add(fields.quarters_list, range)
    local quarter, wrong = context.layout.block_elements / 4, nil
    for i, block in ipairs(present) do
      local byte = range(math.floor((i - 1) / 2), 1)
      local bits = i % 2 == 1 and byte:uint() % 16 or math.floor(byte:uint() / 16)
      local in_block = context.layout.elements - context.layout.block_elements * block
      local item = list:add(fields.quarters, byte, bits)
      item:prepend_text(string.format("Block %d: ", block))
      if bits == 0 then wrong = "A block without a quarter (R-019)" end
      if bits >= 2 ^ math.min(4, math.ceil(in_block / quarter)) then
        wrong = "A quarter that the block does not have (R-019)"
      end
      found[i] = bits
    end
    if #present % 2 == 1 and range(range:len() - 1, 1):uint() >= 16 then
      wrong = "Half a byte of no block is not 0 (R-019)"
    end
    if wrong then
      list:add_proto_expert_info(malformed.sparse, wrong)
      reader:skip()
      return nil
    end
    return found
  end

  local function in_quarters(context, reader, chunks)
    local quarter = context.layout.block_elements / 4
    for _, tree in ipairs(chunks) do
      local present, wrong = block_set(context, reader, tree)
      if wrong then return refuse_set(reader, wrong) end
      local start, runs = reader.at, {}
      local bits = quarter_bits(context, reader, tree, present)
      if not bits then return end
      local found = codes(context, reader, tree, CODES, present)
      padding(reader, tree, start, 4)
      for i, block in ipairs(present) do
        for each = 0, 3 do
          if layouts.bit_of(bits[i], each) == 1 then
            runs[#runs + 1] = run_of(context, (4 * block + each) * quarter, quarter)
          end
        end
      end
      elements(context, reader, tree, runs, found)
    end
  end

  -- Returns why this packet may not leave out zeros, or nothing (R-018, R-019).
  local function refusal(context, chunks, grain, reserved)
    local is_result = context.kind == "RESULT"
    local ordered = context.layout.reduction == "min" or context.layout.reduction == "max"
    if ordered then return "Zeros left out under " .. context.layout.reduction end
    if context.has_specials then return "Zeros left out beside SPECIALS" end
    if context.layout.elements == 0 then return "Zeros left out of no elements" end
    if context.contributors == 0 then return "Zeros left out by nobody" end
    if chunks == 0 or chunks > limits.sparse_chunks_max then return "No such number of chunks" end
    if not tables.grains[grain] then return "No such grain" end
    if reserved ~= 0 then return "The byte after the grain is not 0" end
    if is_result and (chunks ~= 1 or tables.grains[grain] ~= "quarters") then
      return "A RESULT leaves out quarters of one chunk"
    end
  end

  local function sparse(context, reader, tree)
    local values, range = {}, reader:take(4)
    for _, field in ipairs(tables.sparse) do
      local one = range(field[1], field[2])
      values[field[3]] = one:uint()
      tree:add(fields["sparse." .. field[3]], one)
    end
    local why = refusal(context, values.chunks, values.grain, values.reserved)
    if why then
      tree:add_proto_expert_info(malformed.sparse, why .. " (R-018, R-019)")
      return reader:skip()
    end
    local chunks = {}
    for i = 1, values.chunks do
      local slot = (context.slot + i - 1) % 2 ^ 16
      chunks[i] = tree:add(fields.chunk, range, slot):set_generated()
    end
    local walk = tables.grains[values.grain] == "quarters" and in_quarters or whole_blocks
    walk(context, reader, chunks)
  end

  -- Reads the missing ranks of a PENDING (R-065), which are bits or ranges of ranks.
  local function pending(context, reader, tree, with_bits)
    local bytes = reader:left()
    for length = 0, math.min(limits.pending_bytes_max, bytes - 1), 4 do
      if context.begins_packet(reader.tvb, reader.at + length) then bytes = length break end
    end
    if bytes > limits.pending_bytes_max or bytes % 4 ~= 0 then
      tree:add_proto_expert_info(malformed.oversized, "No such length of PENDING (R-065)")
      return reader:skip()
    end
    if bytes == 0 then return end
    local missing = {}
    if with_bits then
      local range = reader:take(bytes)
      missing = members(range, 8 * bytes)
      tree:add(fields.missing_bits, range)
    end
    local stop = with_bits and reader.at or reader.at + bytes
    while reader.at < stop do
      local one = reader:take(4)
      local item = tree:add(fields.missing_range, one)
      local first, count = one(0, 2):uint(), one(2, 2):uint()
      item:add(fields["rank_range.first"], one(0, 2))
      item:add(fields["rank_range.count"], one(2, 2))
      item:append_text(string.format(": %d from %d on", count, first))
      if count == 0 or first + count > 2 ^ 16 then
        item:add_proto_expert_info(malformed.missing, "No such range of ranks (R-065)")
      end
      for rank = first, first + count - 1 do missing[#missing + 1] = rank end
    end
    local text = ranges_text(missing)
    tree:add(fields.missing, reader.tvb(reader.at - bytes, bytes), text):set_generated()
    context.info[#context.info + 1] = "missing " .. text
  end

  -- Whether the packet is a brief result (R-067). In a train, another packet may follow.
  local function is_brief(context, reader)
    local layout = context.layout
    local may_be = context.kind == "RESULT" and context.contributors == 1 and
                   layout.collective == "broadcast" and layout.elements > 0 and
                   not (layout.is_block or layout.is_native)
    for name, is_set in pairs(context.flags) do
      may_be = may_be and (name == "TAGGED" or not is_set)
    end
    return may_be and (reader:left() == 0 or context.begins_packet(reader.tvb, reader.at))
  end

  -- Reads the body, and reports its errors. `reader` is after header and tag.
  local function read(context, reader, tree)
    local kind = context.kind
    if is_brief(context, reader) then
      context.info[#context.info + 1] = "brief"
    elseif context.flags.SPARSE and (kind == "ADD" or kind == "RESULT") then
      sparse(context, reader, tree)
    elseif kind == "ADD" or (kind == "RESULT" and context.contributors > 0) then
      dense(context, reader, tree, true)
    elseif kind == "OVERRANGE" or kind == "REALIGN" then
      dense(context, reader, tree, false)
    elseif kind == "PARTIAL" then
      local body = context.layout.is_native and exact or partial
      body(context, reader, tree)
    elseif kind == "PENDING" then
      pending(context, reader, tree, context.flags.BITS)
    elseif kind == "ABORT" or kind == "ABORTED" then
      context.show_abort(reader:take(24), tree)
    end
  end

  return {reader_of = reader_of, read = read, CUT_SHORT = CUT_SHORT, TOO_SHORT = TOO_SHORT}
end
