// SPDX-License-Identifier: Apache-2.0
//
// The registry of encodings: the ways in which the elements of a call can travel. One record says
// what one encoding can do. choose_format() reads the records, and nothing else decides by the name
// of a wire format. Constants: any thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <infold/options.h>

#include "base/enum_set.h"
#include "core/format.h"

namespace infold::codec {

// What ranks have to know of each other's elements before they send theirs, in a transfer of its
// own.
enum class Exchange : std::uint8_t {
  none,
  exponents,  // of each block
  digits,     // which bits each group of elements has
};

struct Encoding {
  const char* name;
  // How a caller asks for it; `automatic` for the one that cannot be asked for.
  WireFormat wire;
  // What it carries. It carries collectives that move elements without reducing them where
  // `copies`.
  base::EnumSet<DataType> types;
  base::EnumSet<Reduction> reductions;
  bool copies;
  // Types that it carries where neither the call nor the communicator names another encoding.
  base::EnumSet<DataType> default_of;
  // Of elements in packets; empty: integers as wide as the element in memory.
  std::optional<core::WireFormat> format;
  Exchange exchange;

  constexpr core::WireFormat format_of(DataType type) const {
    return format.value_or(core::integer_format(type));
  }
};

// All of them. Of those that carry a call by default, the first that all sites sum is taken.
std::span<const Encoding> encodings();
// Null for `automatic` and for a number that is no WireFormat.
const Encoding* find_encoding(WireFormat wire);

}  // namespace infold::codec
