// SPDX-License-Identifier: Apache-2.0
//
// Implements sections 3 and 4 of spec/protocol.md a second time and in another way.
#include "study/oracle/oracle.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "study/oracle/exact_total.h"
#include "study/oracle/oracle_float.h"
#include "study/oracle/values.h"

namespace infold::oracle {
namespace {

using core::Collective;
using core::DataType;
using core::ElementLayout;
using core::Reduction;
__extension__ using Wide = __int128;

// One block with the values of all ranks, as doubles.
struct Block {
  std::uint64_t first = 0;
  std::uint32_t elements = 0;
  std::vector<std::vector<double>> values;  // [rank][element]

  double largest_finite(std::size_t rank) const {
    double largest = 0;
    for (const double value : values[rank]) {
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
    return largest;
  }

  // Returns the IEEE sum of the ranks' NaNs and infinities at this element, or 0 if there are none.
  double special(std::uint32_t element) const {
    double sum = 0;
    for (const auto& rank : values) {
      if (!std::isfinite(rank[element])) sum += rank[element];
    }
    return sum;
  }
};

// Requires: the processor rounds to nearest with ties to even, as in every thread of a simulation.
std::int64_t in_units(double value, int unit) {
  return static_cast<std::int64_t>(std::nearbyint(std::ldexp(value, -unit)));
}

// Returns the exponent code of a block with this largest magnitude, but at least `floor`.
int code_of(double largest, int floor, ElementLayout layout) {
  if (largest == 0) return 0;
  int code = std::max(std::ilogb(largest) + layout.exponent_bias(), 1);
  if (in_units(largest, layout.unit_exponent(code)) > layout.mantissa_limit()) ++code;
  code = std::max(code, floor);
  return in_units(largest, layout.unit_exponent(code)) == 0 ? 0 : code;
}

// Returns sum * 2^unit / divisor, rounded as the specification says.
double scaled(double sum, int unit, std::uint32_t divisor) {
  if (divisor > 1) sum *= 1.0 / divisor;
  return std::ldexp(sum, unit);
}

Wide rounded_shift(Wide magnitude, int shift) {
  if (shift <= 0) return magnitude << -shift;
  const Wide whole = magnitude >> shift;
  const Wide rest = magnitude - (whole << shift);
  const Wide half = Wide{1} << (shift - 1);
  return rest > half || (rest == half && (whole & 1) != 0) ? whole + 1 : whole;
}

Wide magnitude_of(Wide value) { return value < 0 ? -value : value; }

int bit_length(Wide value) {
  int bits = 0;
  for (; value != 0; value >>= 1) ++bits;
  return bits;
}

class BlockFloatSum {
 public:
  BlockFloatSum(const Request& request, const Block& block)
      : layout_(request.layout), sums_(block.elements) {
    int highest = 0;
    for (std::size_t rank = 0; rank < block.values.size(); ++rank) {
      highest = std::max(highest, code_of(block.largest_finite(rank), 0, layout_));
    }
    const int floor = highest - core::exponent_spread_max(layout_, request.world);
    std::vector<int> codes;
    for (std::size_t rank = 0; rank < block.values.size(); ++rank) {
      codes.push_back(code_of(block.largest_finite(rank), floor, layout_));
      if (codes.back() != 0)
        lowest_ = lowest_ == 0 ? codes.back() : std::min(lowest_, codes.back());
    }
    for (std::size_t rank = 0; rank < codes.size(); ++rank) add(block.values[rank], codes[rank]);
    choose_code();
  }

  double result(std::uint32_t element, std::uint32_t divisor) const {
    if (code_ == 0) return 0;
    const Wide rounded = rounded_shift(magnitude_of(sums_[element]), code_ - lowest_);
    const double sign = sums_[element] < 0 ? -1 : 1;
    if (rounded > layout_.mantissa_limit()) return sign * std::numeric_limits<double>::infinity();
    if (rounded == 0) return 0;
    return scaled(sign * static_cast<double>(rounded), layout_.unit_exponent(code_), divisor);
  }

 private:
  void add(const std::vector<double>& values, int code) {
    if (code == 0) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      sums_[i] += Wide{in_units(values[i], layout_.unit_exponent(code))} << (code - lowest_);
    }
  }

  void choose_code() {
    Wide largest = 0;
    for (const Wide sum : sums_) largest = std::max(largest, magnitude_of(sum));
    if (largest == 0) return;
    code_ = lowest_ + bit_length(largest) - 1 - layout_.mantissa_top_bit();
    if (rounded_shift(largest, code_ - lowest_) > layout_.mantissa_limit()) ++code_;
    code_ = std::clamp(code_, 1, layout_.exponent_code_max());
  }

  ElementLayout layout_;
  std::vector<Wide> sums_;  // in units of the lowest code
  int lowest_ = 0;
  int code_ = 0;
};

constexpr std::uint16_t kSpecialBit = 0x8000;

// Returns the code that bfp32 would have, for every type.
std::uint16_t agreed_code(const Block& block, ElementLayout layout) {
  layout.format = core::WireFormat::bfp32;
  int code = 0;
  bool special = false;
  for (std::size_t rank = 0; rank < block.values.size(); ++rank) {
    code = std::max(code, code_of(block.largest_finite(rank), 0, layout));
    for (const double value : block.values[rank]) special |= !std::isfinite(value);
  }
  return static_cast<std::uint16_t>(code | (special ? kSpecialBit : 0));
}

class AgreedSum {
 public:
  AgreedSum(const Request& request, const Block& block) : sums_(block.elements) {
    const int agreed = agreed_code(block, request.layout);
    const bool special = (agreed & kSpecialBit) != 0;
    const int code = agreed & ~kSpecialBit;
    const auto rank_bits = static_cast<int>(core::ceil_log2(request.world));
    const auto count_bits = static_cast<int>(core::ceil_log2(request.world + 1));
    const int bits = 31 - rank_bits - (special ? 2 * count_bits : 0);
    unit_ = code - request.layout.exponent_bias() + 1 - bits;
    const std::int64_t limit = (std::int64_t{1} << bits) - 1;
    for (const auto& values : block.values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (code == 0 || !std::isfinite(values[i])) continue;
        sums_[i] += std::clamp(in_units(values[i], unit_), -limit, limit);
      }
    }
  }

  double result(std::uint32_t element, std::uint32_t divisor) const {
    return sums_[element] == 0 ? 0 : scaled(static_cast<double>(sums_[element]), unit_, divisor);
  }

 private:
  std::vector<std::int64_t> sums_;
  int unit_ = 0;
};

Block load_block(const Request& request, std::uint64_t index) {
  const std::uint32_t length = request.layout.block_elements();
  Block block;
  block.first = index * length;
  block.elements =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(length, request.elements - block.first));
  for (const std::byte* input : request.inputs) {
    std::vector<double>& values = block.values.emplace_back(block.elements);
    for (std::uint32_t i = 0; i < block.elements; ++i) {
      values[i] = load_float(request.layout.dtype, input, block.first + i);
    }
  }
  return block;
}

std::uint64_t block_total(const Request& request) {
  const std::uint32_t length = request.layout.block_elements();
  return (request.elements + length - 1) / length;
}

template <typename Sum>
void sum_blocks(const Request& request, std::byte* result) {
  const auto divisor = request.reduction == Reduction::average
                           ? static_cast<std::uint32_t>(request.inputs.size())
                           : 1U;
  for (std::uint64_t index = 0; index < block_total(request); ++index) {
    const Block block = load_block(request, index);
    const Sum sum(request, block);
    for (std::uint32_t i = 0; i < block.elements; ++i) {
      const double special = block.special(i);
      const double value = special != 0 || std::isnan(special) ? special : sum.result(i, divisor);
      store_float(request.layout.dtype, result, block.first + i, value);
    }
  }
}

// Treats -0 as less than +0. If any input is NaN, the result is NaN.
void compare_floats(const Request& request, std::byte* result) {
  const bool greatest = request.reduction == Reduction::max;
  const auto precedes = [](double a, double b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  };
  for (std::uint64_t i = 0; i < request.elements; ++i) {
    double best = load_float(request.layout.dtype, request.inputs[0], i);
    for (const std::byte* input : request.inputs) {
      const double value = load_float(request.layout.dtype, input, i);
      if (std::isnan(best)) break;
      if (std::isnan(value) || (greatest ? precedes(best, value) : precedes(value, best))) {
        best = value;
      }
    }
    store_float(request.layout.dtype, result, i, best);
  }
}

template <typename Int>
void reduce_integers(const Request& request, std::byte* result) {
  for (std::uint64_t i = 0; i < request.elements; ++i) {
    Wide sum = 0;
    Wide least = 0;
    Wide greatest = 0;
    Int bits = 0;
    for (std::size_t rank = 0; rank < request.inputs.size(); ++rank) {
      Int value;
      std::memcpy(&value, request.inputs[rank] + i * sizeof(Int), sizeof(Int));
      sum += value;
      bits = static_cast<Int>(bits | value);
      least = rank == 0 ? value : std::min<Wide>(least, value);
      greatest = rank == 0 ? value : std::max<Wide>(greatest, value);
    }
    auto out = static_cast<Int>(sum);  // modulo 2^width
    switch (request.reduction) {
      case Reduction::sum: break;
      case Reduction::average:
        out = static_cast<Int>(Wide{out} / static_cast<Wide>(request.inputs.size()));
        break;
      case Reduction::min: out = static_cast<Int>(least); break;
      case Reduction::max: out = static_cast<Int>(greatest); break;
      case Reduction::bit_or: out = bits; break;
    }
    std::memcpy(result + i * sizeof(Int), &out, sizeof(Int));
  }
}

}  // namespace

// Returns the exact sum or mean, rounded once.
void sum_exactly(const Request& request, std::byte* result) {
  const DataType dtype = request.layout.dtype;
  const auto ranks = static_cast<std::uint32_t>(request.inputs.size());
  const std::uint32_t divisor = request.reduction == Reduction::average ? ranks : 1;
  std::vector<double> values(request.inputs.size());
  for (std::uint64_t i = 0; i < request.elements; ++i) {
    for (std::size_t rank = 0; rank < request.inputs.size(); ++rank) {
      values[rank] = load_float(dtype, request.inputs[rank], i);
    }
    const std::uint64_t bits = nearest_sum(dtype, values, divisor);
    std::memcpy(result + i * element_bytes(dtype), &bits, element_bytes(dtype));
  }
}

void expected_result(const Request& request, std::span<std::byte> result) {
  CHECK_THAT(result.size(), ==, request.elements * element_bytes(request.layout.dtype));
  CHECK(!request.inputs.empty());
  if (request.collective == Collective::broadcast) {
    std::memcpy(result.data(), request.inputs[0], result.size());
    return;
  }
  switch (request.layout.dtype) {
    case DataType::i8: return reduce_integers<std::int8_t>(request, result.data());
    case DataType::u8: return reduce_integers<std::uint8_t>(request, result.data());
    case DataType::i32: return reduce_integers<std::int32_t>(request, result.data());
    case DataType::i64: return reduce_integers<std::int64_t>(request, result.data());
    default: break;
  }
  if (request.reduction == Reduction::min || request.reduction == Reduction::max) {
    return compare_floats(request, result.data());
  }
  if (request.layout.is_native()) return sum_exactly(request, result.data());
  if (request.agreed) return sum_blocks<AgreedSum>(request, result.data());
  return sum_blocks<BlockFloatSum>(request, result.data());
}

std::vector<std::uint16_t> expected_codes(const Request& request) {
  std::vector<std::uint16_t> codes;
  for (std::uint64_t index = 0; index < block_total(request); ++index) {
    codes.push_back(agreed_code(load_block(request, index), request.layout));
  }
  return codes;
}

}  // namespace infold::oracle
