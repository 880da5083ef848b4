// SPDX-License-Identifier: Apache-2.0
//
// A set of values of an enumeration, stored as bits: bit n stands for the value n. All operations
// are constant expressions.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace infold::base {

// Requires: values below 32. Bits outside `kKnown` are dropped, because they may come from another
// version.
template <typename Value, std::uint32_t kKnown = ~std::uint32_t{0}>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr explicit EnumSet(std::uint32_t bits) : bits_(bits & kKnown) {}
  constexpr EnumSet(std::initializer_list<Value> values) {
    for (const Value value : values) *this = *this | of(value);
  }
  static constexpr EnumSet all() { return EnumSet(kKnown); }
  static constexpr EnumSet of(Value value) { return EnumSet(1U << static_cast<unsigned>(value)); }

  constexpr bool has(Value value) const { return !(*this & of(value)).is_empty(); }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr std::uint32_t bits() const { return bits_; }

  friend constexpr EnumSet operator&(EnumSet a, EnumSet b) { return EnumSet(a.bits_ & b.bits_); }
  friend constexpr EnumSet operator|(EnumSet a, EnumSet b) { return EnumSet(a.bits_ | b.bits_); }
  // The values that are in `a` and not in `b`.
  friend constexpr EnumSet operator-(EnumSet a, EnumSet b) { return EnumSet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(EnumSet, EnumSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace infold::base
