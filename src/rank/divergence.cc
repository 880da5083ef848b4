// SPDX-License-Identifier: Apache-2.0
//
// All checks use one exchange, which finds maxima. Taking the maximum of n and of ~n yields both
// the maximum and the minimum, so ranks agree if the two match. If each rank puts its number in a
// place of its own, all ranks learn all numbers. Numbers of 64 bits travel as two halves; they are
// equal everywhere if both halves are.
#include "rank/divergence.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/digest.h"
#include "encoding/format_choice.h"
#include "numeric/order_key.h"

namespace infold::rank {
namespace {

constexpr std::int32_t kNothing = std::numeric_limits<std::int32_t>::min();

std::int32_t high_half(std::uint64_t number) { return static_cast<std::int32_t>(number >> 32); }
std::int32_t low_half(std::uint64_t number) { return static_cast<std::int32_t>(number); }

struct Extent {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// What ranks compare is either a tensor that all ranks hold in the same form...
struct Whole {
  TensorView tensor;

  DataType type() const { return tensor.type; }
  std::uint64_t elements() const { return tensor.elements; }
  std::uint64_t bits(std::uint64_t element) const { return bits_at(tensor, element); }
  base::Digest digest(Extent extent) const {
    const std::size_t bytes = element_bytes(tensor.type);
    base::Digest digest;
    digest.add(std::span(static_cast<const std::byte*>(tensor.data) + extent.first * bytes,
                         (extent.end - extent.first) * bytes));
    return digest;
  }
};

// ... or a tensor of which each rank may hold any part that includes all elements other than zero.
struct Sparse {
  RowsView rows;  // with indices, or one row that is the whole tensor

  DataType type() const { return rows.values.type; }
  std::uint64_t elements() const { return rows.rows * rows.row_elements; }
  std::uint64_t bits(std::uint64_t element) const {
    std::uint64_t found = 0;
    for_each({element, element + 1}, [&](std::uint64_t, std::uint64_t bits) { found = bits; });
    return found;
  }
  base::Digest digest(Extent extent) const {
    base::Digest digest;
    for_each(extent, [&](std::uint64_t element, std::uint64_t bits) {
      digest.add(element);
      digest.add(bits);
    });
    return digest;
  }

 private:
  // Calls visit(element, bits) for each element in the extent that is not zero.
  template <typename Visit>
  void for_each(Extent extent, Visit&& visit) const {
    const std::uint64_t length = rows.row_elements;
    const auto first = std::lower_bound(rows.indices.begin(), rows.indices.end(),
                                        static_cast<std::int64_t>(extent.first / length));
    for (auto place = first; place != rows.indices.end(); ++place) {
      const std::uint64_t row_first = static_cast<std::uint64_t>(*place) * length;
      if (row_first >= extent.end) return;
      const auto given = static_cast<std::uint64_t>(place - rows.indices.begin());
      const std::uint64_t end = std::min(extent.end, row_first + length);
      for (std::uint64_t i = std::max(extent.first, row_first); i < end; ++i) {
        const std::uint64_t bits = bits_at(rows.values, given * length + (i - row_first));
        if (!is_zero(rows.values.type, bits)) visit(i, bits);
      }
    }
  }
  static bool is_zero(DataType type, std::uint64_t bits) {
    const std::uint64_t sign =
        core::is_float(type) ? std::uint64_t{1} << (8 * element_bytes(type) - 1) : 0;
    return (bits & ~sign) == 0;
  }
};

Result<bool> is_same_everywhere(const Ranks& ranks, const base::Digest& digest) {
  const std::int32_t high = high_half(digest.value());
  const std::int32_t low = low_half(digest.value());
  std::int32_t both[] = {high, low, ~high, ~low};
  if (auto done = ranks.greatest(both); !done) return tl::unexpected(done.error());
  return both[0] == ~both[2] && both[1] == ~both[3];
}

// Halves the extent until only the first element that differs between ranks is left.
template <typename Tensor>
Result<std::uint64_t> first_difference(const Tensor& tensor, const Ranks& ranks) {
  Extent extent{0, tensor.elements()};
  while (extent.end - extent.first > 1) {
    const std::uint64_t middle = extent.first + (extent.end - extent.first) / 2;
    const Result<bool> same = is_same_everywhere(ranks, tensor.digest({extent.first, middle}));
    if (!same) return tl::unexpected(same.error());
    (*same ? extent.first : extent.end) = middle;
  }
  return extent.first;
}

// The most frequent value; if several are, the one whose first rank is lowest.
std::int64_t value_of_most(const std::vector<std::int64_t>& values) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::int64_t value : values) ++counts[value];
  return *std::max_element(values.begin(), values.end(),
                           [&](std::int64_t a, std::int64_t b) { return counts[a] < counts[b]; });
}

template <typename Format>
std::optional<std::int64_t> place_in_order(std::uint64_t bits) {
  const auto own = static_cast<typename Format::Bits>(bits);
  if (numeric::magnitude_bits<Format>(own) > Format::kInfinity) return std::nullopt;
  return numeric::flip<Format>(own);
}

std::optional<std::int64_t> place_of(DataType type, std::uint64_t bits) {
  switch (type) {
    case DataType::f32: return place_in_order<numeric::F32>(bits);
    case DataType::f16: return place_in_order<numeric::F16>(bits);
    case DataType::bf16: return place_in_order<numeric::Bf16>(bits);
    case DataType::f64: return place_in_order<numeric::F64>(bits);
    case DataType::i8: return static_cast<std::int8_t>(bits);
    case DataType::u8: return static_cast<std::uint8_t>(bits);
    case DataType::i32: return static_cast<std::int32_t>(bits);
    case DataType::i64: return static_cast<std::int64_t>(bits);
  }
  return std::nullopt;
}

template <typename Format>
double as_double(std::uint64_t bits) {
  const auto own = static_cast<typename Format::Bits>(bits);
  if (numeric::is_special<Format>(own)) {
    if (numeric::magnitude_bits<Format>(own) > Format::kInfinity) return std::nan("");
    return (own & Format::kSign) != 0 ? -HUGE_VAL : HUGE_VAL;
  }
  const numeric::ExactFloat exact = numeric::unpack<Format>(own);
  const double magnitude = std::ldexp(static_cast<double>(exact.significand), exact.exponent);
  return exact.negative ? -magnitude : magnitude;
}

std::string ranks_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::string distance_text(const Divergence& divergence) {
  const auto ulps = ulps_between(divergence.type, divergence.value_bits, divergence.others_bits);
  if (!ulps) return "not comparable";
  if (!core::is_float(divergence.type)) return std::to_string(*ulps) + " apart";
  return std::to_string(*ulps) + (*ulps == 1 ? " ulp apart" : " ulps apart");
}

}  // namespace

Ranks ranks_of(Communicator& communicator) {
  return {communicator.rank(), communicator.world(),
          [&communicator](std::span<std::int32_t> in_place) -> Result<void> {
            const auto done =
                communicator.all_reduce(in_place, {.reduction = Reduction::max}).wait();
            if (!done) return tl::unexpected(done.error());
            return {};
          }};
}

Result<std::vector<std::int64_t>> numbers_of_all(const Ranks& ranks, std::int64_t own) {
  const auto world = static_cast<std::size_t>(ranks.world);
  std::vector<std::int32_t> halves(2 * world, kNothing);
  halves[2 * static_cast<std::size_t>(ranks.rank)] = high_half(static_cast<std::uint64_t>(own));
  halves[2 * static_cast<std::size_t>(ranks.rank) + 1] = low_half(static_cast<std::uint64_t>(own));
  if (auto done = ranks.greatest(halves); !done) return tl::unexpected(done.error());
  std::vector<std::int64_t> numbers;
  for (std::size_t rank = 0; rank < world; ++rank) {
    const auto low = static_cast<std::uint32_t>(halves[2 * rank + 1]);
    numbers.push_back(std::int64_t{halves[2 * rank]} * (std::int64_t{1} << 32) + low);
  }
  return numbers;
}

namespace {

template <typename Tensor>
Result<std::optional<Divergence>> find(const Tensor& result, const Ranks& ranks) {
  const Result<bool> same = is_same_everywhere(ranks, result.digest({0, result.elements()}));
  if (!same) return tl::unexpected(same.error());
  if (*same) return std::nullopt;
  const Result<std::uint64_t> element = first_difference(result, ranks);
  if (!element) return tl::unexpected(element.error());
  const auto values = numbers_of_all(ranks, static_cast<std::int64_t>(result.bits(*element)));
  if (!values) return tl::unexpected(values.error());

  Divergence divergence;
  divergence.type = result.type();
  divergence.element = *element;
  const std::int64_t most = value_of_most(*values);
  divergence.others_bits = static_cast<std::uint64_t>(most);
  for (std::size_t rank = 0; rank < values->size(); ++rank) {
    if ((*values)[rank] == most) continue;
    if (divergence.ranks.empty()) {
      divergence.value_bits = static_cast<std::uint64_t>((*values)[rank]);
    }
    divergence.ranks.push_back(static_cast<int>(rank));
  }
  return divergence;
}

}  // namespace

Result<std::optional<Divergence>> find_divergence(TensorView result, const Ranks& ranks) {
  return find(Whole{result}, ranks);
}

Result<std::optional<Divergence>> find_sparse_divergence(TensorView result, const Ranks& ranks) {
  static constexpr std::int64_t kOnlyRow[] = {0};
  if (result.elements == 0) return find_sparse_divergence(RowsView{{}, result, 0, 1}, ranks);
  return find_sparse_divergence(RowsView{kOnlyRow, result, 1, result.elements}, ranks);
}

Result<std::optional<Divergence>> find_sparse_divergence(const RowsView& result,
                                                         const Ranks& ranks) {
  return find(Sparse{result}, ranks);
}

std::optional<std::uint64_t> ulps_between(DataType type, std::uint64_t a_bits,
                                          std::uint64_t b_bits) {
  const auto a = place_of(type, a_bits);
  const auto b = place_of(type, b_bits);
  if (!a || !b) return std::nullopt;
  const auto difference = static_cast<std::uint64_t>(*a) - static_cast<std::uint64_t>(*b);
  return *a >= *b ? difference : -difference;
}

std::string value_text(DataType type, std::uint64_t bits) {
  char text[64];
  const int digits = 2 * static_cast<int>(element_bytes(type));
  switch (type) {
    case DataType::f32:
      std::snprintf(text, sizeof(text), "%.9g", as_double<numeric::F32>(bits));
      break;
    case DataType::f16:
      std::snprintf(text, sizeof(text), "%.5g", as_double<numeric::F16>(bits));
      break;
    case DataType::bf16:
      std::snprintf(text, sizeof(text), "%.4g", as_double<numeric::Bf16>(bits));
      break;
    case DataType::f64:
      std::snprintf(text, sizeof(text), "%.17g", as_double<numeric::F64>(bits));
      break;
    default: return std::to_string(*place_of(type, bits));
  }
  char hexadecimal[32];
  std::snprintf(hexadecimal, sizeof(hexadecimal), " (0x%0*" PRIx64 ")", digits, bits);
  return std::string(text) + hexadecimal;
}

std::uint64_t bits_at(TensorView tensor, std::uint64_t element) {
  const std::size_t bytes = element_bytes(tensor.type);
  std::uint64_t bits = 0;  // little-endian, as are all machines that infold is built for
  std::memcpy(&bits, static_cast<const std::byte*>(tensor.data) + element * bytes, bytes);
  return bits;
}

std::string describe(const Divergence& divergence) {
  std::string text;
  if (divergence.ranks.size() > 1) text = ranks_list(divergence.ranks) + " differ: ";
  return text + "rank " + std::to_string(divergence.ranks.front()) + " has " +
         value_text(divergence.type, divergence.value_bits) + " at element " +
         std::to_string(divergence.element) + ", " +
         (divergence.ranks.size() > 1 ? "most have " : "the others ") +
         value_text(divergence.type, divergence.others_bits) + ": " + distance_text(divergence);
}

}  // namespace infold::rank
