// SPDX-License-Identifier: Apache-2.0
//
// The registry of encodings: the ways in which the elements of a call can travel. One record says
// what one encoding can do. choose_format() reads the records, and nothing else decides by the name
// of a wire format. Constants: any thread may read them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include <infold/options.h>

#include "core/format.h"

namespace infold::codec {

// Some values of an enumeration that has fewer than 16.
template <typename Enum>
class SetOf {
 public:
  constexpr SetOf(std::initializer_list<Enum> values) {
    for (const Enum value : values) bits_ = static_cast<std::uint16_t>(bits_ | bit(value));
  }
  constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }

 private:
  static constexpr unsigned bit(Enum value) { return 1U << static_cast<unsigned>(value); }
  std::uint16_t bits_ = 0;
};

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
  SetOf<DataType> types;
  SetOf<Reduction> reductions;
  bool copies;
  // Types that it carries where neither the call nor the communicator names another encoding.
  SetOf<DataType> default_of;
  // Of elements in packets; empty: integers as wide as the element in memory.
  std::optional<core::WireFormat> format;
  Exchange exchange;

  constexpr core::WireFormat format_of(DataType type) const {
    return format.value_or(core::integer_format(type));
  }
};

// All of them. Of those that carry a call by default, the first is taken.
std::span<const Encoding> encodings();
// Null for `automatic` and for a number that is no WireFormat.
const Encoding* find_encoding(WireFormat wire);

}  // namespace infold::codec
