-- SPDX-License-Identifier: Apache-2.0
--
-- A Wireshark dissector of infold's packets (spec/protocol.md). It shows the header, the flags and
-- the bodies, and has a finding for each error that makes a packet malformed (R-004). It needs the
-- files beside it. It looks at one packet at a time, so it does not know a job's limits, workers or
-- slots.
local folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local tables = dofile(folder .. "tables.lua")
local layouts = dofile(folder .. "layout.lua")
local bodies = dofile(folder .. "body.lua")
local exact = dofile(folder .. "exact.lua")

local limits = tables.limits
local infold = Proto("infold", "In-Network Aggregation (infold)")

-- Fields

local fields = {}
local names = {
  kind = tables.kinds, data_type = tables.data_types, format = tables.wire_formats,
  collective = tables.collectives, reduction = tables.reductions,
  ["sparse.grain"] = tables.grains, ["abort.reason"] = tables.reasons,
}
local HEXADECIMAL = {magic = true, flags = true, shape = true, ["contributor digest"] = true,
                     rank_signature = true, other_signature = true}

local function add_field(key, make, label, ...)
  fields[key] = make("infold." .. key, label, ...)
end

local function label_of(name)
  return name:sub(1, 1):upper() .. name:sub(2):gsub("_", " ")
end

-- Adds the fields of a table's row {offset, bytes, name}, and notes their keys. If the row has two
-- names, these are the halves of a byte.
local function add_row(prefix, row)
  local high, low = row[3]:match("^(.+), (.+)$")
  row.keys = {}
  for i, name in ipairs(high and {high, low} or {row[3]}) do
    row.keys[i] = name:gsub(" ", "_")
    local key = prefix .. row.keys[i]
    local shown = HEXADECIMAL[name] and base.HEX or base.DEC
    local make = ({ProtoField.uint8, ProtoField.uint16, [4] = ProtoField.uint32})[row[2]]
    if make then
      add_field(key, make, label_of(name), shown, names[key], high and ({0xF0, 0x0F})[i] or nil)
    else
      add_field(key, ProtoField.bytes, label_of(name))
    end
  end
end

for _, row in ipairs(tables.header) do add_row("", row) end
for _, row in ipairs(tables.sparse) do add_row("sparse.", row) end
for _, row in ipairs(tables.exact) do add_row("exact.", row) end
for _, row in ipairs(tables.rank_range) do add_row("rank_range.", row) end
for _, row in ipairs(tables.abort) do add_row("abort.", row) end
for bit, name in pairs(tables.flags) do
  add_field("flags." .. name:lower(), ProtoField.bool, name, 8, nil, bit)
end
-- The signatures in an ABORT repeat the fields of a header (R-080).
for _, name in ipairs({"elements", "data_type", "format", "collective", "reduction", "shape"}) do
  local make = ({elements = ProtoField.uint16, shape = ProtoField.uint32})[name] or ProtoField.uint8
  add_field("signature." .. name, make, label_of(name), name == "shape" and base.HEX or base.DEC,
            names[name], ({data_type = 0xF0, format = 0x0F, collective = 0xF0,
                           reduction = 0x0F})[name])
end

add_field("tag", ProtoField.bytes, "Tag")
add_field("chunk", ProtoField.uint16, "Chunk of slot")
add_field("codes_list", ProtoField.none, "Exponent codes")
add_field("code", ProtoField.uint16, "Exponent code")
add_field("low_code", ProtoField.uint16, "Lowest exponent code")
add_field("high_code", ProtoField.uint16, "Highest exponent code")
add_field("padding", ProtoField.bytes, "Padding")
add_field("elements_list", ProtoField.none, "Elements")
add_field("element", ProtoField.int64, "Element")
add_field("value", ProtoField.double, "Value")
add_field("lanes_list", ProtoField.none, "Lanes")
add_field("lane", ProtoField.int64, "Lane")
add_field("doubles_list", ProtoField.none, "Binary64")
add_field("double", ProtoField.double, "Binary64")
add_field("second", ProtoField.double, "Second binary64")
add_field("indices_list", ProtoField.none, "Elements of second binary64")
add_field("second_at", ProtoField.uint16, "Element of a second binary64")
add_field("row", ProtoField.uint8, "Row")
add_field("digit", ProtoField.int32, "Integer of a row")
add_field("plus", ProtoField.bytes, "Set of +infinity")
add_field("minus", ProtoField.bytes, "Set of -infinity")
add_field("block_set", ProtoField.bytes, "Set of blocks")
add_field("quarters_list", ProtoField.none, "Quarters")
add_field("quarters", ProtoField.uint8, "Quarters", base.HEX)
add_field("missing", ProtoField.string, "Missing ranks")
add_field("missing_range", ProtoField.none, "Missing ranks")
add_field("missing_bits", ProtoField.bytes, "Set of missing ranks")
add_field("probe", ProtoField.bytes, "Probe")
add_field("surplus", ProtoField.bytes, "Bytes too many")
for _, field in pairs(fields) do infold.fields[#infold.fields + 1] = field end

-- Findings. A malformed packet's finding has the name that core::Malformed gives the error.

local malformed, findings = {}, {}
local function add_finding(list, name, label, group, severity)
  list[name] = ProtoExpert.new("infold." .. name, label, group, severity)
  infold.experts[#infold.experts + 1] = list[name]
end
for _, name in ipairs({"truncated", "oversized", "magic", "version", "kind", "format", "elements",
                       "contributors", "flags", "reserved", "codes", "abort", "exact",
                       "sparse", "missing"}) do
  local list = {}
  add_finding(list, "malformed." .. name, "Malformed: " .. name, expert.group.MALFORMED,
              expert.severity.ERROR)
  malformed[name] = list["malformed." .. name]
end
add_finding(findings, "cut_short", "The capture has not all bytes of this packet",
            expert.group.UNDECODED, expert.severity.NOTE)
add_finding(findings, "ended", "The job has ended", expert.group.RESPONSE_CODE,
            expert.severity.WARN)
add_finding(findings, "realign", "The ranks encode the chunk again (R-034)",
            expert.group.SEQUENCE, expert.severity.NOTE)

infold.prefs.ports = Pref.range("UDP ports", "7700", "Ports of switches: all datagrams are shown",
                                65535)
infold.prefs.shows_elements = Pref.bool("Show elements", true, "Each element, with its value")

local body = bodies(tables, layouts, fields, malformed, exact)

-- The header

-- Shows the rows under `prefix`. Returns {name: value}. Two names are the halves of a byte.
local function read_rows(rows, range, tree, prefix)
  local values = {}
  for _, row in ipairs(rows) do
    local one = range(row[1], row[2])
    local whole = row[2] <= 4 and one:uint() or nil
    for i, key in ipairs(row.keys) do
      if #row.keys == 1 then
        values[key] = whole
      else
        values[key] = i == 1 and math.floor(whole / 16) or whole % 16
      end
      values[key .. "_item"] = tree:add(fields[prefix .. key], one)
    end
  end
  return values
end

local function read_flags(item, range, value)
  local flags, named = {}, {}
  for bit = 0, 7 do
    local name = tables.flags[2 ^ bit]
    if name then
      item:add(fields["flags." .. name:lower()], range)
      flags[name] = layouts.bit_of(value, bit) == 1
      if flags[name] then named[#named + 1] = name end
    end
  end
  if #named > 0 then item:append_text(" (" .. table.concat(named, ", ") .. ")") end
  return flags, named
end

local function show_abort(values, range, tree)
  local found = read_rows(tables.abort, range, tree, "abort.")
  if not tables.reasons[found.reason] then
    found.reason_item:add_proto_expert_info(malformed.abort, "No such reason (R-080)")
  end
  if found.reserved ~= 0 then
    found.reserved_item:add_proto_expert_info(malformed.abort, "Not 0 (R-080)")
  end
  for _, name in ipairs({"rank_signature", "other_signature"}) do
    local item, at = found[name .. "_item"], name == "rank_signature" and 8 or 16
    item:add(fields["signature.elements"], range(at, 2))
    item:add(fields["signature.data_type"], range(at + 2, 1))
    item:add(fields["signature.format"], range(at + 2, 1))
    item:add(fields["signature.collective"], range(at + 3, 1))
    item:add(fields["signature.reduction"], range(at + 3, 1))
    item:add(fields["signature.shape"], range(at + 4, 4))
  end
  local why = string.format("%s, rank %d, other %d", tables.reasons[found.reason] or "no reason",
                            found.rank, found.other)
  tree:add_proto_expert_info(findings.ended, "The job has ended: " .. why)
  values.info[#values.info + 1] = why
end

-- Makes the checks of R-002 and R-004 that need only the header. Returns whether a body can be
-- read.
local function check_header(values, flags)
  local sums = values.reduction == 0 or values.reduction == 1
  local known = tables.data_types[values.data_type] and tables.wire_formats[values.format] and
                tables.collectives[values.collective] and tables.reductions[values.reduction]
  local function refuse(what, item, text)
    values[item .. "_item"]:add_proto_expert_info(malformed[what], text)
  end
  if values.version ~= limits.version then refuse("version", "version", "No such version") end
  local kind = tables.kinds[values.kind]
  if not kind then refuse("kind", "kind", "No such kind (R-003)") end
  if not known then
    refuse("format", "format", "A code that R-020 does not have")
    return false
  end
  local layout = layouts.layout_of(tables, values)
  local is_float = values.data_type <= layouts.code_of(tables.data_types, "f64")
  if (layout.is_block or layout.is_native) and not (sums and is_float) then
    refuse("format", "format", "Not a format for this type and reduction (R-004)")
    return false
  end
  if not kind or values.version ~= limits.version then return false end
  local needs_blocks = kind == "OVERRANGE" or kind == "REALIGN" or
                       (kind == "PARTIAL" and not layout.is_native)
  if needs_blocks and not layout.is_block then
    refuse("format", "format", kind .. " is not of this format (R-004)")
    return false
  end
  if layout.elements * layout.element_bytes > limits.payload_bytes_max then
    refuse("elements", "elements", "More bytes of elements than any chunk has (R-004)")
    return false
  end
  local has_data = kind == "RESULT" or kind == "REALIGN"
  local is_needed = kind == "ADD" or kind == "PARTIAL" or kind == "OVERRANGE"
  local is_empty = values.contributors + values.weight + values.contributor_digest == 0
  if (is_needed and values.contributors == 0) or not (is_needed or has_data or is_empty) then
    refuse("contributors", "contributors", "Not the contributors of this kind (R-014)")
  end
  local ends_job = kind == "ABORT" or kind == "ABORTED"
  local of_chunk = values.slot + values.round + values.elements + values.data_type + values.format +
                   values.collective + values.reduction + values.shape
  if ends_job and of_chunk ~= 0 then refuse("reserved", "slot", "Of a chunk (R-080)") end
  for bit, name in pairs(tables.flags) do
    local is_allowed = math.floor(tables.flags_of[values.kind] / bit) % 2 == 1
    if flags[name] and not is_allowed then
      refuse("flags", "flags", kind .. " cannot have " .. name .. " (R-002)")
    end
  end
  if values.flags >= 32 then refuse("flags", "flags", "No such flag (R-002)") end
  if flags.SPECIALS and not layout.is_block then
    refuse("flags", "flags", "SPECIALS are of block formats (R-002)")
  end
  values.layout = layout
  return true
end

-- The packet

local function show_info(pinfo, values, named)
  local kind = tables.kinds[values.kind] or "unknown kind"
  local text = string.format("%s job %d", kind, values.job)
  if values.layout and kind ~= "ABORT" and kind ~= "ABORTED" then
    local layout = values.layout
    text = string.format("%s slot %d round %u worker %d, %d x %s/%s %s", text, values.slot,
                         values.round, values.worker, layout.elements, layout.data_type,
                         layout.format, layout.collective == "all-reduce" and layout.reduction or
                         layout.collective)
  end
  for _, more in ipairs(values.info) do text = text .. ", " .. more end
  if #named > 0 then text = text .. " [" .. table.concat(named, ", ") .. "]" end
  pinfo.cols.info:set(text)
end

-- Whether bytes begin like a packet whose header has only known codes. The dissector uses this on
-- every port, because ranks that sum for each other get their ports from the kernel.
local function begins_packet(tvb, at)
  if tvb:reported_len() - at < limits.header_bytes or tvb:len() - at < 20 then return false end
  local second, types = tvb(at + 1, 1):uint(), tvb(at + 18, 1):uint()
  local operation = tvb(at + 19, 1):uint()
  return tvb(at, 1):uint() == limits.magic and math.floor(second / 16) == limits.version and
         tables.kinds[second % 16] ~= nil and
         tables.data_types[math.floor(types / 16)] ~= nil and
         tables.wire_formats[types % 16] ~= nil and
         tables.collectives[math.floor(operation / 16)] ~= nil and
         tables.reductions[operation % 16] ~= nil
end

-- Runs a reader of bytes. If it ends early, the reason becomes a finding.
local function guarded(tree, read)
  local ok, why = pcall(read)
  if ok then return true end
  if why == body.CUT_SHORT then
    tree:add_proto_expert_info(findings.cut_short)
  elseif why == body.TOO_SHORT then
    tree:add_proto_expert_info(malformed.truncated, "The packet ends too early (R-004)")
  else
    error(why, 0)
  end
  return false
end

local function read_body(reader, tree, values, flags)
  if flags.TAGGED then tree:add(fields.tag, reader:take(limits.tag_bytes)) end
  local context = {
    kind = tables.kinds[values.kind], layout = values.layout, flags = flags, info = values.info,
    has_specials = flags.SPECIALS, contributors = values.contributors, slot = values.slot,
    shows = function(item, field)
      return infold.prefs.shows_elements and (item.visible or item:referenced(field))
    end,
    show_abort = function(range, of) show_abort(values, range, of) end,
    begins_packet = begins_packet,
  }
  if context.kind == "REALIGN" then tree:add_proto_expert_info(findings.realign) end
  body.read(context, reader, tree)
end

-- Shows the packet at the reader's place. Returns whether another packet follows it. Some hosts
-- leave it to their network card to cut trains. Their packets are captured before the cut, as a
-- train in one datagram.
local function show_packet(reader, pinfo, tree)
  local values, flags, named, tvb = {}, {}, {}, reader.tvb
  local readable = guarded(tree, function()
    local range = reader:take(limits.header_bytes)
    values = read_rows(tables.header, range, tree, "")
    values.info = {}
    flags, named = read_flags(values.flags_item, range(2, 1), values.flags)
  end)
  if not readable then return false end
  if values.magic ~= limits.magic then
    values.magic_item:add_proto_expert_info(malformed.magic, "Not infold's magic (R-002)")
    return false
  end
  local whole = check_header(values, flags) and
                guarded(tree, function() read_body(reader, tree, values, flags) end)
  local has_next = whole and begins_packet(tvb, reader.at)
  if whole and reader:left() > 0 and not has_next then
    local there = math.min(reader:left(), tvb:len() - reader.at)
    local item = there > 0 and tree:add(fields.surplus, tvb(reader.at, there)) or tree
    item:add_proto_expert_info(malformed.oversized, "Longer than kind and format say (R-004)")
  end
  show_info(pinfo, values, named)
  return has_next
end

local function show_packets(tvb, pinfo, tree)
  local reader, count, has_next = body.reader_of(tvb, 0), 0, true
  while has_next do
    local start, item = reader.at, tree:add(infold, tvb(reader.at))
    has_next = show_packet(reader, pinfo, item)
    if has_next then item:set_len(reader.at - start) end
    count = count + 1
  end
  if count > 1 then
    pinfo.cols.info:set(string.format("Train of %d packets, the last: ", count) ..
                        tostring(pinfo.cols.info))
  end
end

local function show_probe(tvb, pinfo, tree)
  local what = tvb(0, 1):uint() == limits.probe_magic and "Probe" or "Echo of a probe"
  pinfo.cols.info:set(string.format("%s of %d bytes", what, tvb:reported_len()))
  tree:add(fields.magic, tvb(0, 1)):append_text(" (" .. what .. ", R-017)")
  if tvb:len() > 1 then tree:add(fields.probe, tvb(1)) end
end

local function is_probe(tvb)
  local first = tvb(0, 1):uint()
  return (first == limits.probe_magic or first == limits.echo_magic) and
         tvb:reported_len() >= limits.probe_bytes_min
end

function infold.dissector(tvb, pinfo, tree)
  if tvb:len() == 0 then return 0 end
  pinfo.cols.protocol:set("infold")
  pinfo.cols.info:set("")
  if is_probe(tvb) then
    show_probe(tvb, pinfo, tree:add(infold, tvb()))
  else
    show_packets(tvb, pinfo, tree)
  end
  return tvb:len()
end

-- infold's own probes have zeros after their first byte, unlike datagrams of other programs.
local function is_infold(tvb)
  if tvb:len() < 8 then return false end
  if not is_probe(tvb) then return begins_packet(tvb, 0) end
  return tvb(1, 4):uint() == 0 and tvb(5, 3):uint() == 0
end

infold:register_heuristic("udp", function(tvb, pinfo, tree)
  if not is_infold(tvb) then return false end
  -- From now on, malformed packets between these two addresses are shown as well.
  pinfo.conversation = infold
  infold.dissector(tvb, pinfo, tree)
  return true
end)

local udp_ports, registered = DissectorTable.get("udp.port"), nil
local function take_ports()
  if registered == infold.prefs.ports then return end
  if registered then udp_ports:remove(registered, infold) end
  registered = infold.prefs.ports
  udp_ports:add(registered, infold)
end
infold.prefs_changed = take_ports
take_ports()
udp_ports:add_for_decode_as(infold)
