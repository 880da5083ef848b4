// SPDX-License-Identifier: Apache-2.0
//
// Draws numbers that are hard to sum from a seed, for tests of exact sums on every plane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/prng.h"
#include "core/exact/exact_sums.h"
#include "core/exact/float_bits.h"
#include "core/format.h"

namespace infold::core {

enum class ExactDraw : std::uint32_t {
  any_bits,
  alike,  // exponents close together, as in gradients
  powers_of_two,
  subnormal,
  near_overflow,
  cancelling,  // pairs that differ in one bit and in sign
  midpoints,   // half of a last place, with a tail far below
  two_scales,
  three_scales,
  spread,  // exponents anywhere
  negative_zeros,
  with_specials,
  integers,
};
inline constexpr std::uint32_t kExactDraws = 13;

namespace draws {

template <typename Format>
typename Format::Bits make(bool negative, int field, std::uint64_t fraction) {
  using Bits = typename Format::Bits;
  constexpr int kFieldMax = (1 << Format::kExponentBits) - 2;
  field = field < 0 ? 0 : field > kFieldMax ? kFieldMax : field;
  const std::uint64_t mask = (std::uint64_t{1} << Format::kFractionBits) - 1;
  return static_cast<Bits>(
      (negative ? Format::kSign : Bits{0}) |
      static_cast<Bits>(static_cast<std::uint64_t>(field) << Format::kFractionBits) |
      static_cast<Bits>(fraction & mask));
}

// Every second number is the one before it with the opposite sign, and perhaps one bit flipped.
template <typename Format>
typename Format::Bits cancelling(const std::vector<typename Format::Bits>& column, std::size_t rank,
                                 bool negative, base::Prng& prng) {
  using Bits = typename Format::Bits;
  constexpr std::uint64_t kFields = (1U << Format::kExponentBits) - 1;
  if (rank % 2 == 0) {
    return make<Format>(negative, static_cast<int>(prng.below(kFields)), prng.next());
  }
  const std::uint64_t flipped =
      prng.below(3) == 0 ? 0 : std::uint64_t{1} << prng.below(Format::kFractionBits);
  return static_cast<Bits>(column[rank - 1] ^ Format::kSign ^ static_cast<Bits>(flipped));
}

// Rank 0 has a number, rank 1 half of its last place, and rank 2 perhaps a little more or less.
template <typename Format>
typename Format::Bits midpoint(std::size_t rank, bool negative, int field, base::Prng& prng) {
  if (rank == 0) return make<Format>(negative, field, prng.next());
  if (rank == 1) return make<Format>(negative, field - Format::kFractionBits - 1, 0);
  const bool has_tail = rank == 2 && prng.below(3) != 0;
  const int below = 24 * (1 + static_cast<int>(prng.below(4)));
  return has_tail ? make<Format>(negative, field - below, prng.next())
                  : make<Format>(negative, 0, 0);
}

// Draws one element at all ranks.
template <typename Format>
void fill_column(ExactDraw draw, base::Prng& prng, std::vector<typename Format::Bits>& column) {
  using Bits = typename Format::Bits;
  constexpr int kFieldMax = (1 << Format::kExponentBits) - 2;
  const auto ranks = column.size();
  const int middle = static_cast<int>(prng.below(static_cast<std::uint64_t>(kFieldMax) + 1));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool negative = prng.below(2) == 0;
    const std::uint64_t fraction = prng.next();
    const int third = static_cast<int>(prng.below(3));
    Bits& bits = column[rank];
    switch (draw) {
      case ExactDraw::any_bits: bits = static_cast<Bits>(fraction); break;
      case ExactDraw::alike:
        bits =
            make<Format>(negative, Format::kBias - 5 + static_cast<int>(prng.below(8)), fraction);
        break;
      case ExactDraw::powers_of_two:
        bits = make<Format>(negative, static_cast<int>(prng.below(kFieldMax + 1)), 0);
        break;
      case ExactDraw::subnormal:
        bits = make<Format>(negative, static_cast<int>(prng.below(3)), fraction);
        break;
      case ExactDraw::near_overflow:
        bits = make<Format>(prng.below(4) == 0, kFieldMax - static_cast<int>(prng.below(3)),
                            prng.below(2) == 0 ? ~std::uint64_t{0} : fraction);
        break;
      case ExactDraw::cancelling: bits = cancelling<Format>(column, rank, negative, prng); break;
      case ExactDraw::midpoints: bits = midpoint<Format>(rank, negative, middle, prng); break;
      case ExactDraw::two_scales:
        bits =
            make<Format>(negative, prng.below(2) == 0 ? kFieldMax - 10 : kFieldMax / 8, fraction);
        break;
      case ExactDraw::three_scales:
        bits = make<Format>(negative,
                            third == 0   ? kFieldMax - 10
                            : third == 1 ? kFieldMax / 2
                                         : kFieldMax / 8,
                            fraction);
        break;
      case ExactDraw::spread:
        bits = make<Format>(negative, static_cast<int>(prng.below(kFieldMax + 1)), fraction);
        break;
      case ExactDraw::negative_zeros: bits = Format::kSign; break;
      case ExactDraw::with_specials:
        bits = prng.below(6) == 0
                   ? static_cast<Bits>((negative ? Format::kSign : Bits{0}) | Format::kInfinity |
                                       (third == 0 ? static_cast<Bits>(prng.below(8)) : Bits{0}))
                   : make<Format>(negative, middle, fraction);
        break;
      case ExactDraw::integers: {
        const std::uint64_t whole = prng.below(std::uint64_t{1} << (Format::kFractionBits / 2));
        bits = pack<Format>({negative, whole, 0});
        break;
      }
    }
  }
}

template <typename Format>
std::vector<std::vector<std::byte>> contributions(ExactDraw draw, std::uint32_t ranks,
                                                  std::uint32_t elements, base::Prng& prng) {
  using Bits = typename Format::Bits;
  std::vector<std::vector<std::byte>> made(ranks, std::vector<std::byte>(elements * sizeof(Bits)));
  std::vector<Bits> column(ranks);
  for (std::uint32_t i = 0; i < elements; ++i) {
    fill_column<Format>(draw, prng, column);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      store(made[rank].data(), i, column[rank]);
    }
  }
  return made;
}

}  // namespace draws

// Draws a tensor for each rank.
inline std::vector<std::vector<std::byte>> draw_contributions(DataType dtype, ExactDraw draw,
                                                              std::uint32_t ranks,
                                                              std::uint32_t elements,
                                                              base::Prng& prng) {
  switch (dtype) {
    case DataType::f32: return draws::contributions<F32>(draw, ranks, elements, prng);
    case DataType::f16: return draws::contributions<F16>(draw, ranks, elements, prng);
    case DataType::bf16: return draws::contributions<Bf16>(draw, ranks, elements, prng);
    default: return draws::contributions<F64>(draw, ranks, elements, prng);
  }
}

// Adds a leaf's sum to its parent's as it travels between aggregators, and ends the leaf's
// sum. Returns whether it travelled as doubles.
inline bool send_up(ExactSums& leaf, ExactSums& root, DataType dtype, std::uint32_t elements) {
  const bool as_doubles = leaf.travels_as_doubles(0, dtype == DataType::f64 ? 64 : 2);
  const auto add = [&](const double* doubles) {
    root.add_doubles(0, dtype, reinterpret_cast<const std::byte*>(doubles), elements);
  };
  add(leaf.sent_high(0));
  if (as_doubles && leaf.sent_low(0) != nullptr) add(leaf.sent_low(0));
  std::vector<std::byte> digits(elements * sizeof(std::int32_t));
  for (std::uint32_t row = 0; !as_doubles && row < bin_layout(dtype).rows; ++row) {
    if (!leaf.has_row(0, row)) continue;
    leaf.write_row(0, row, digits.data());
    root.add_row(0, dtype, row, digits.data(), elements);
  }
  leaf.end(0);
  return as_doubles;
}

}  // namespace infold::core
