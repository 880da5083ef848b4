// SPDX-License-Identifier: Apache-2.0
//
// Runs one kernel of a set and the corresponding scalar kernel on the same input, and compares
// everything that they wrote. The unit tests and the fuzzer use it. Input bytes choose the kernel
// and its input. The list of kernels follows from the tables' own types, so that no kernel can be
// left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned.h"
#include "numeric/codec.h"
#include "numeric/differential_exact.h"
#include "numeric/differential_input.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {

class Differential {
 public:
  static constexpr std::uint32_t kCombines = 16;
  static constexpr std::uint32_t kAccumulates = core::kLaneWidths * 4;
  static constexpr std::uint32_t kEncodes = core::kLaneWidths * 3;
  static constexpr std::uint32_t kWidens = core::kLaneWidths - 1;
  static constexpr std::uint32_t kPlans = 1;
  static constexpr std::uint32_t kExacts = core::kExactTypes;
  static constexpr std::uint32_t kArithmetic =
      kCombines + kAccumulates + kEncodes + kWidens + kPlans + kExacts;
  static_assert(sizeof(core::Arithmetic) == kArithmetic * sizeof(void*),
                "a kernel was added to the arithmetic: compare it here");
  static_assert(sizeof(DigitLoops) == 2 * sizeof(void*),
                "a loop was added to the digits: compare it here");
  // Two functions, and three fields that take as much room as two pointers.
  static_assert(sizeof(core::TensorCodec) == 4 * sizeof(void*),
                "a function was added to the codecs: compare it here");
  // codes/code_loops_test.cc compares the table of codes.
  static_assert(sizeof(KernelSet) == sizeof(std::string_view) + 8 * sizeof(void*),
                "a table was added to the sets: compare it here");

  static constexpr std::uint32_t kDtypes = INFOLD_DTYPE_COUNT;
  static constexpr std::uint32_t kFormats = INFOLD_FORMAT_COUNT;
  static constexpr std::uint32_t kReductions = INFOLD_REDUCTION_COUNT;
  static constexpr std::uint32_t kCollectives = INFOLD_COLLECTIVE_COUNT;
  static constexpr std::uint32_t kCodecs = kDtypes * kFormats * kReductions * kCollectives;
  static constexpr std::uint32_t kAgreed = kDtypes * kReductions;
  static constexpr std::uint32_t kCodeLists = kDtypes;
  static constexpr std::uint32_t kPresences = kDtypes;
  static constexpr std::uint32_t kDigits = core::kExactTypes;
  static constexpr std::uint32_t kKernels =
      kArithmetic + kCodecs + kAgreed + kCodeLists + kPresences + kDigits;

  Differential(const KernelSet& set, InputBytes input) : set_(set), input_(input) {}

  // Returns an empty text if both agree, and otherwise the difference.
  std::string compare(std::uint32_t kernel) {
    if (kernel < kCombines) return compare_combine(kernel);
    kernel -= kCombines;
    if (kernel < kAccumulates) return compare_accumulate(kernel);
    kernel -= kAccumulates;
    if (kernel < kEncodes) return compare_encode(kernel);
    kernel -= kEncodes;
    if (kernel < kWidens) return compare_widen(kernel);
    kernel -= kWidens;
    if (kernel < kPlans) return compare_plan();
    kernel -= kPlans;
    if (kernel < kExacts) return compare_exact(static_cast<core::DataType>(kernel));
    kernel -= kExacts;
    if (kernel < kCodecs) return compare_any_codec(kernel);
    kernel -= kCodecs;
    if (kernel < kAgreed) return compare_agreed(kernel);
    kernel -= kAgreed;
    if (kernel < kCodeLists) return compare_code_list(static_cast<core::DataType>(kernel));
    kernel -= kCodeLists;
    if (kernel < kPresences) return compare_presence(static_cast<core::DataType>(kernel));
    return compare_digits(static_cast<core::DataType>(kernel - kPresences));
  }

 private:
  static constexpr std::uint32_t kElementsMax = 600;
  static constexpr std::uint32_t kSparseElementsMax = 40'000;

  void fill(std::byte* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = input_.take<std::byte>();
  }

  std::string verdict(bool equal, std::string what) const {
    return equal ? "" : std::string(set_.name) + ": " + what;
  }

  std::string compare_combine(std::uint32_t kernel) {
    const std::uint32_t width = kernel % 4;
    const std::uint32_t count = input_.below(kElementsMax);
    const std::size_t size = std::size_t{count} << width;
    Buffer into(size, input_.below(8));
    Buffer elements(size, input_.below(8));
    fill(into.data(), size);
    fill(elements.data(), size);
    Buffer expected = into;
    const auto pick = [&](const core::Arithmetic& table) {
      constexpr core::Arithmetic::Combine(core::Arithmetic::* kTables[])[4] = {
          &core::Arithmetic::sum, &core::Arithmetic::min, &core::Arithmetic::max,
          &core::Arithmetic::bit_or};
      return (table.*kTables[kernel / 4])[width];
    };
    pick (*set_.arithmetic)(into.data(), elements.data(), count);
    pick(core::scalar_arithmetic())(expected.data(), elements.data(), count);
    return verdict(into.all() == expected.all(), "combine " + std::to_string(kernel));
  }

  std::string compare_accumulate(std::uint32_t kernel) {
    const std::uint32_t width = kernel % 4;
    const std::uint32_t lane_bytes = 2U << kernel / 4;
    const auto fast = set_.arithmetic->accumulate[kernel / 4][width];
    const auto scalar = core::scalar_arithmetic().accumulate[kernel / 4][width];
    if (fast == nullptr || scalar == nullptr) return verdict(fast == scalar, "accumulate exists");
    const std::uint32_t count = input_.below(kElementsMax) + 1;
    const std::uint32_t block = input_.below(4) == 0 ? input_.below(80) + 1 : 32;
    std::vector<core::BlockStep> steps(padded((count + block - 1) / block));
    const bool all_add = input_.below(2) == 0;
    for (core::BlockStep& step : steps) {
      const auto action = static_cast<core::BlockStep::Action>(all_add ? 2 : input_.below(3));
      const std::uint32_t lane_shift = input_.below(2) * input_.below(8 * lane_bytes);
      step = {action, lane_shift, input_.below(2) * input_.below(8 * lane_bytes)};
    }
    Buffer lanes(std::size_t{count} * lane_bytes, 0);
    fill(lanes.data(), std::size_t{count} * lane_bytes);
    Buffer expected = lanes;
    Buffer mantissas(std::size_t{count} << width, input_.below(8));
    fill(mantissas.data(), std::size_t{count} << width);
    fast(lanes.data(), mantissas.data(), count, block, steps.data());
    scalar(expected.data(), mantissas.data(), count, block, steps.data());
    return verdict(lanes.all() == expected.all(), "accumulate " + std::to_string(kernel));
  }

  static std::size_t padded(std::size_t blocks) {
    return (blocks + core::kBlocksTogether - 1) / core::kBlocksTogether * core::kBlocksTogether;
  }

  // If the reach exceeds 63, the steps are not compared, because an aggregator does not use them.
  std::string compare_plan() {
    using Codes = std::vector<std::uint16_t>;
    const std::uint32_t blocks = input_.below(80) + 1;
    const std::uint32_t codes_end = input_.below(2) == 0 ? 4096 : 66;
    const bool partial = input_.below(2) == 0;
    Codes low(padded(blocks));
    Codes high(low.size());
    Codes lane_low(low.size());
    Codes lane_high(low.size());
    for (std::uint32_t i = 0; i < blocks; ++i) {
      low[i] = static_cast<std::uint16_t>(input_.below(4) == 0 ? 0 : input_.below(codes_end));
      high[i] = partial ? static_cast<std::uint16_t>(input_.below(codes_end)) : low[i];
      lane_low[i] = static_cast<std::uint16_t>(input_.below(4) == 0 ? 0 : input_.below(codes_end));
      lane_high[i] = static_cast<std::uint16_t>(lane_low[i] + input_.below(20));
    }
    Codes expected_low = lane_low;
    Codes expected_high = lane_high;
    std::vector<core::BlockStep> steps(low.size());
    std::vector<core::BlockStep> expected = steps;
    const std::uint32_t reach = set_.arithmetic->plan(
        {low.data(), high.data(), lane_low.data(), lane_high.data()}, blocks, steps.data());
    const std::uint32_t expected_reach = core::scalar_arithmetic().plan(
        {low.data(), high.data(), expected_low.data(), expected_high.data()}, blocks,
        expected.data());
    return verdict(reach == expected_reach && lane_low == expected_low &&
                       lane_high == expected_high && (reach > 63 || steps == expected),
                   "plan");
  }

  std::string compare_widen(std::uint32_t kernel) {
    const std::uint32_t count = input_.below(kElementsMax) + 1;
    Buffer lanes(std::size_t{count} * 4 << kernel, 0);
    fill(lanes.data(), std::size_t{count} * 2 << kernel);
    Buffer expected = lanes;
    set_.arithmetic->widen[kernel](lanes.data(), count);
    core::scalar_arithmetic().widen[kernel](expected.data(), count);
    return verdict(lanes.all() == expected.all(), "widen " + std::to_string(kernel));
  }

  std::string compare_exact(core::DataType dtype) {
    const std::string differs = compare_exact_sums(*set_.arithmetic, dtype, input_);
    return verdict(differs.empty(), differs);
  }

  // Lanes of a block have similar magnitudes, and blocks of all magnitudes occur. In some blocks,
  // lanes lie halfway between two rounded values.
  void fill_lanes(const std::vector<std::uint16_t>& lane_codes, std::uint32_t block_elements,
                  std::uint32_t lane_bytes, std::uint32_t count, std::byte* lanes) {
    const int bits = static_cast<int>(8 * lane_bytes);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t block = i / block_elements;
      const std::uint16_t code = lane_codes[block];
      const int shift = code * 37 % bits;
      const auto value = input_.take<std::int64_t>() >> (64 - bits);
      std::int64_t lane = value >> shift;
      if (block % 3 == 1) lane &= ~std::int64_t{0} << (bits - 1 - shift) / 2;
      if (code % 16 == 3) lane = input_.below(2) == 0 ? 0 : INT64_MIN >> (64 - bits) >> shift;
      if (code % 16 == 4) lane = 0;
      std::memcpy(lanes + std::size_t{i} * lane_bytes, &lane, lane_bytes);
    }
  }

  // Packets cannot contain a code above the largest code, because parse() refuses them. The test
  // does not use such lane codes.
  std::string compare_encode(std::uint32_t kernel) {
    const std::uint32_t width = kernel % 3;
    const std::uint32_t lane_bytes = 2U << kernel / 3;
    const auto fast = set_.arithmetic->encode[kernel / 3][width];
    const auto scalar = core::scalar_arithmetic().encode[kernel / 3][width];
    if (fast == nullptr || scalar == nullptr) return verdict(fast == scalar, "encode exists");
    const core::ElementLayout layout = {
        static_cast<core::WireFormat>(INFOLD_FORMAT_BFP8 + width),
        input_.below(4) == 0 ? core::DataType::f64 : core::DataType::f32};
    const std::uint32_t count = input_.below(kElementsMax) + 1;
    const std::uint32_t block_count = layout.block_count(count);
    const auto code_max = static_cast<std::uint32_t>(layout.exponent_code_max());
    std::vector<std::uint16_t> lane_codes(block_count);
    for (std::uint16_t& code : lane_codes) {
      const std::uint32_t kind = input_.below(8);
      code = static_cast<std::uint16_t>(kind == 0   ? 0
                                        : kind == 1 ? 1 + input_.below(40)
                                        : kind == 2 ? code_max - input_.below(40)
                                                    : input_.below(code_max + 1));
    }
    Buffer lanes(std::size_t{count} * lane_bytes, 0);
    fill_lanes(lane_codes, layout.block_elements(), lane_bytes, count, lanes.data());
    std::vector<std::uint16_t> codes(block_count + 1, 7);
    std::vector<std::uint16_t> expected_codes = codes;
    const std::size_t size = count * layout.element_bytes();
    Buffer mantissas(size, input_.below(8));
    Buffer expected = mantissas;
    const bool overflowed =
        fast(lanes.data(), count, layout, lane_codes.data(), codes.data(), mantissas.data());
    const bool expected_overflowed = scalar(lanes.data(), count, layout, lane_codes.data(),
                                            expected_codes.data(), expected.data());
    return verdict(overflowed == expected_overflowed && codes == expected_codes &&
                       mantissas.all() == expected.all(),
                   "encode " + std::to_string(kernel));
  }

  // Fills the tensor with magnitudes like those of real tensors, or with random bits.
  void fill_tensor(core::DataType dtype, std::byte* tensor, std::uint32_t elements) {
    const std::uint32_t bytes = element_bytes(dtype);
    fill(tensor, std::size_t{elements} * bytes);
    if (!core::is_float(dtype) || input_.below(4) == 0) return;
    const std::uint32_t exponent_bits = dtype == core::DataType::f64   ? 11
                                        : dtype == core::DataType::f16 ? 5
                                                                       : 8;
    const std::uint32_t fraction_bits = 8 * bytes - 1 - exponent_bits;
    // In real tensors all blocks of a batch are often plain, which would rarely happen by chance.
    const std::uint32_t kind_first = input_.below(2) == 0 ? 4 : 0;
    std::uint64_t base = 0;
    std::uint32_t kind = 0;
    for (std::uint32_t i = 0; i < elements; ++i) {
      if (i % 32 == 0) {
        base = input_.take<std::uint64_t>();
        kind = kind_first + input_.below(8 - kind_first);
      }
      std::uint64_t bits = 0;
      std::memcpy(&bits, tensor + std::size_t{i} * bytes, bytes);
      const std::uint64_t exponent_mask = (std::uint64_t{1} << exponent_bits) - 1;
      std::uint64_t exponent = (base + input_.below(4)) & exponent_mask;
      if (kind == 0) exponent = 0;
      if (kind == 1 && input_.below(16) == 0) exponent = exponent_mask;
      if (kind == 7) exponent = input_.below(static_cast<std::uint32_t>(exponent_mask));
      if (kind > 3 && exponent == exponent_mask) exponent -= 1;
      bits &= ~(exponent_mask << fraction_bits);
      bits |= exponent << fraction_bits;
      if (kind == 2) bits |= (std::uint64_t{1} << fraction_bits) - 1;
      if (kind == 3 && input_.below(4) != 0) bits = 0;
      std::memcpy(tensor + std::size_t{i} * bytes, &bits, bytes);
    }
  }

  std::string compare_any_codec(std::uint32_t kernel) {
    const auto dtype = static_cast<core::DataType>(kernel % kDtypes);
    kernel /= kDtypes;
    const auto format = static_cast<core::WireFormat>(kernel % kFormats);
    kernel /= kFormats;
    const auto reduction = static_cast<core::Reduction>(kernel % kReductions);
    const auto collective = static_cast<core::Collective>(kernel / kReductions);
    return compare_codec({format, dtype}, set_.codec(dtype, format, reduction, collective),
                         scalar_kernels().codec(dtype, format, reduction, collective), false);
  }

  std::string compare_agreed(std::uint32_t kernel) {
    const auto dtype = static_cast<core::DataType>(kernel % kDtypes);
    const auto reduction = static_cast<core::Reduction>(kernel / kDtypes);
    const std::uint32_t world = input_.below(kAgreedWorldMax + 2);
    return compare_codec({core::WireFormat::i32, dtype}, set_.agreed_codec(dtype, reduction, world),
                         scalar_kernels().agreed_codec(dtype, reduction, world), true);
  }

  std::string compare_codec(core::ElementLayout layout, const core::TensorCodec* fast,
                            const core::TensorCodec* scalar, bool agreed) {
    if (fast == nullptr || scalar == nullptr) return verdict(fast == scalar, "codec exists");
    if (fast->element_bytes != scalar->element_bytes) return verdict(false, "element bytes");
    if (fast->copies != scalar->copies) return verdict(false, "copies");
    const core::ChunkRange range = {layout.block_elements() * input_.below(3),
                                    input_.below(kElementsMax) + 1};
    const auto tensor_elements = static_cast<std::uint32_t>(range.first) + range.elements;
    Buffer tensor(std::size_t{tensor_elements} * fast->element_bytes, input_.below(8));
    fill_tensor(layout.dtype, tensor.data(), tensor_elements);

    std::vector<std::uint16_t> codes(layout.block_count(range.elements));
    if (agreed) block_codes(layout.dtype, tensor.data(), range, codes.data());
    const bool tampered = input_.below(4) == 0;
    for (std::uint16_t& code : codes) {
      if (tampered) code = input_.take<std::uint16_t>();
      if (tampered && !agreed) code = static_cast<std::uint16_t>(code % 300 * (code & 1));
    }
    const bool with_codes = agreed || input_.below(2) == 0;
    const std::uint16_t* given = with_codes ? codes.data() : nullptr;

    Buffer exponents(layout.exponent_bytes(range.elements), 0);
    Buffer elements(std::size_t{range.elements} * layout.element_bytes(), input_.below(8));
    Buffer expected_exponents = exponents;
    Buffer expected_elements = elements;
    const bool specials =
        fast->encode(nullptr, tensor.data(), range, given, exponents.data(), elements.data());
    const bool expected_specials = scalar->encode(
        nullptr, tensor.data(), range, given, expected_exponents.data(), expected_elements.data());
    if (specials != expected_specials || exponents.all() != expected_exponents.all() ||
        elements.all() != expected_elements.all()) {
      return verdict(false, name(layout) + " encode");
    }
    if (scalar->copies &&
        !std::equal(elements.data(), elements.data() + range.elements * scalar->element_bytes,
                    tensor.data() + range.first * scalar->element_bytes)) {
      return verdict(false, name(layout) + " copies");
    }

    if (input_.below(3) == 0) {  // other bytes that an aggregator might send
      fill(exponents.data(), layout.exponent_bytes(range.elements));
      fill(elements.data(), std::size_t{range.elements} * layout.element_bytes());
    }
    const core::TensorCodec::Received received = {.exponents = exponents.data(),
                                                  .elements = elements.data(),
                                                  .codes = codes.data(),
                                                  .divisor = divisor(),
                                                  .specials = specials || input_.below(4) == 0};
    Buffer expected = tensor;
    fast->decode(nullptr, tensor.data(), range, received);
    scalar->decode(nullptr, expected.data(), range, received);
    return verdict(tensor.all() == expected.all(), name(layout) + " decode");
  }

  std::uint32_t divisor() {
    switch (input_.below(4)) {
      case 0: return 1U << input_.below(17);
      case 1: return input_.take<std::uint32_t>();
      default: return input_.below(300);
    }
  }

  std::string compare_code_list(core::DataType dtype) {
    if (!core::is_float(dtype)) return "";
    const core::ElementLayout layout = {core::WireFormat::bfp32, dtype};
    const core::ChunkRange range = {layout.block_elements() * input_.below(3),
                                    input_.below(kElementsMax) + 1};
    const auto tensor_elements = static_cast<std::uint32_t>(range.first) + range.elements;
    Buffer tensor(std::size_t{tensor_elements} * element_bytes(dtype), input_.below(8));
    fill_tensor(dtype, tensor.data(), tensor_elements);
    std::vector<std::uint16_t> codes(layout.block_count(range.elements) + 1, 7);
    std::vector<std::uint16_t> expected = codes;
    set_.block_codes(dtype, tensor.data(), range, codes.data());
    scalar_kernels().block_codes(dtype, tensor.data(), range, expected.data());
    return verdict(codes == expected, name(layout) + " block codes");
  }

  // Most elements are zeros, some of them negative.
  std::string compare_presence(core::DataType dtype) {
    const std::uint32_t count = input_.below(kSparseElementsMax);
    const std::uint32_t width = element_bytes(dtype);
    Buffer tensor(std::size_t{count} * width, input_.below(8));
    std::memset(tensor.data(), 0, std::size_t{count} * width);
    for (std::uint32_t left = count == 0 ? 0 : input_.below(24); left > 0; --left) {
      std::byte* const element = tensor.data() + std::size_t{input_.below(count)} * width;
      const bool is_sign = input_.below(3) == 0;
      element[is_sign ? width - 1 : input_.below(width)] =
          is_sign ? std::byte{0x80} : input_.take<std::byte>();
    }
    const core::ElementLayout layout = {core::WireFormat::i32, dtype};
    std::vector<std::uint32_t> words(layout.block_count(count) / 32 + 2, 0xA5A5A5A5);
    std::vector<std::uint32_t> expected = words;
    const bool clears = input_.below(2) == 0;
    const std::uint32_t into_line = input_.below(base::kCacheLineBytes);
    Buffer cleared(std::size_t{count} * width + into_line, 0);
    Buffer expected_cleared = cleared;
    const auto find = [&](const KernelSet& set, std::vector<std::uint32_t>& found, Buffer& output) {
      return set.find_presence(dtype, tensor.data(), count, found.data(),
                               clears ? output.data() + into_line : nullptr);
    };
    const bool has_signs = find(set_, words, cleared);
    const bool expected_signs = find(scalar_kernels(), expected, expected_cleared);
    return verdict(
        has_signs == expected_signs && words == expected && cleared.all() == expected_cleared.all(),
        name(layout) + " presence");
  }

  // The slice that is written may lie within, next to or far from the bits that elements have.
  std::string compare_digits(core::DataType dtype) {
    const std::uint32_t count = input_.below(kElementsMax);
    Buffer tensor(std::size_t{count} * element_bytes(dtype), input_.below(8));
    fill_tensor(dtype, tensor.data(), count);
    const DigitLoops& fast = set_.digits[static_cast<std::size_t>(dtype)];
    const DigitLoops& scalar = scalar_kernels().digits[static_cast<std::size_t>(dtype)];
    const DigitRange range = scalar.find_range(tensor.data(), count);
    if (fast.find_range(tensor.data(), count) != range) return verdict(false, "digit range");
    const std::uint32_t end = input_.below(2) == 0 ? digit_range_of(dtype).top : range.top;
    const std::uint32_t low = input_.below(end + 1);
    const std::uint32_t bits = 1 + input_.below(31);
    Buffer digits(std::size_t{count} * sizeof(std::int32_t), input_.below(8));
    Buffer expected = digits;
    fast.write(tensor.data(), count, low, bits, digits.data());
    scalar.write(tensor.data(), count, low, bits, expected.data());
    return verdict(digits.all() == expected.all(),
                   "digits of " + std::string(data_type_name(dtype)));
  }

  static std::string name(core::ElementLayout layout) {
    return "dtype " + std::to_string(static_cast<int>(layout.dtype)) + " format " +
           std::to_string(static_cast<int>(layout.format));
  }

  const KernelSet& set_;
  InputBytes input_;
};

}  // namespace infold::numeric
