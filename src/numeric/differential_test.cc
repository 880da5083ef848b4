// SPDX-License-Identifier: Apache-2.0
//
// Compares every kernel of every instruction set that this processor runs with the scalar loops.
#include "numeric/differential.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::numeric {
namespace {

TEST(Differential, EveryKernelOfEverySetWritesWhatTheScalarOneDoes) {
  constexpr std::uint64_t kSeed = 20261121;
  for (const KernelSet& set : supported_kernels()) {
    base::Prng prng(kSeed);
    for (std::uint32_t kernel = 0; kernel < Differential::kKernels; ++kernel) {
      // Most codecs do not exist. Each existing one takes long, and fewer repetitions suffice.
      const int repetitions = kernel < Differential::kArithmetic ? 100 : 8;
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        std::array<std::uint8_t, 8> bytes;
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(prng.next());
        Differential differential(set, InputBytes(bytes));
        ASSERT_EQ(differential.compare(kernel), "") << "kernel " << kernel;
      }
    }
  }
}

// Vector code rounds to 16-bit floats by other means than the scalar loops. The test takes every
// mantissa, with codes at both ends of the plain range and in between.
TEST(Differential, EveryMantissaDecodesTo16BitFloatsAsInTheScalarLoops) {
  std::vector<std::int16_t> mantissas(1 << 16);
  std::iota(mantissas.begin(), mantissas.end(), INT16_MIN);
  const core::ChunkRange range = {0, 1 << 16};
  std::vector<std::byte> exponents(range.elements / INFOLD_BLOCK_ELEMENTS);
  core::TensorCodec::Received received = {
      .exponents = exponents.data(),
      .elements = reinterpret_cast<const std::byte*>(mantissas.data())};
  const auto decode = [&](const KernelSet& set, core::DataType dtype) {
    std::vector<std::uint16_t> tensor(range.elements);
    set.codec(dtype, core::WireFormat::bfp16, core::Reduction::sum, core::Collective::reduce)
        ->decode(nullptr, reinterpret_cast<std::byte*>(tensor.data()), range, received);
    return tensor;
  };
  for (const core::DataType dtype : {core::DataType::f16, core::DataType::bf16}) {
    for (const int code : {1, 39, 40, 95, 96, 105, 106, 120, 134, 228, 229, 247, 255}) {
      std::fill(exponents.begin(), exponents.end(), static_cast<std::byte>(code));
      const auto expected = decode(scalar_kernels(), dtype);
      for (const KernelSet& set : supported_kernels()) {
        ASSERT_EQ(decode(set, dtype), expected) << set.name << " code " << code;
      }
    }
  }
}

// Returns every 16-bit float that may occur in a block with this largest magnitude. Each block
// begins with the largest.
std::vector<std::uint16_t> all_below(std::uint16_t largest) {
  std::vector<std::uint16_t> tensor;
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    if (tensor.size() % INFOLD_BLOCK_ELEMENTS == 0) tensor.push_back(largest);
    if ((bits & 0x7FFF) <= largest) tensor.push_back(static_cast<std::uint16_t>(bits));
  }
  while (tensor.size() % INFOLD_BLOCK_ELEMENTS != 0) tensor.push_back(largest);
  return tensor;
}

struct Encoded {
  bool operator==(const Encoded&) const = default;
  bool specials = false;
  std::vector<std::byte> exponents;
  std::vector<std::byte> elements;
};

Encoded encode(const KernelSet& set, core::ElementLayout layout,
               const std::vector<std::uint16_t>& tensor) {
  const auto count = static_cast<std::uint32_t>(tensor.size());
  Encoded result;
  result.exponents.resize(layout.exponent_bytes(count));
  result.elements.resize(std::size_t{count} * layout.element_bytes());
  result.specials =
      set.codec(layout.dtype, layout.format, core::Reduction::sum, core::Collective::reduce)
          ->encode(nullptr, reinterpret_cast<const std::byte*>(tensor.data()), {0, count}, nullptr,
                   result.exponents.data(), result.elements.data());
  return result;
}

// While such an object lives, the processor treats subnormal inputs as 0 and flushes subnormal
// results to 0, if it can. Training frameworks set this mode.
class FlushSubnormals {
 public:
#ifdef __SSE2__
  FlushSubnormals() { _mm_setcsr(before_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(before_); }

 private:
  unsigned before_ = _mm_getcsr();
#endif
};

void expect_as_scalar(core::DataType dtype, std::uint32_t largest) {
  const auto tensor = all_below(static_cast<std::uint16_t>(largest));
  for (const core::WireFormat format : {core::WireFormat::bfp8, core::WireFormat::bfp16}) {
    const core::ElementLayout layout = {format, dtype};
    const Encoded expected = encode(scalar_kernels(), layout, tensor);
    for (const KernelSet& set : supported_kernels()) {
      ASSERT_EQ(encode(set, layout, tensor), expected) << set.name << " largest " << largest;
      const FlushSubnormals flush;
      ASSERT_EQ(encode(set, layout, tensor), expected)
          << set.name << " flushing, largest " << largest;
    }
  }
}

// Tests every f16 in blocks of every exponent. The largest magnitude is at both ends of the
// exponent, and where bfp8 rounds up to the next exponent. Sets with f16 arithmetic round by other
// means than sets with f32.
TEST(Differential, EveryF16EncodesInEveryBlockAsInTheScalarLoops) {
  for (std::uint32_t field = 0; field < 32; ++field) {
    for (const std::uint32_t fraction : {0, 1, 1000, 1001, 1023}) {
      ASSERT_NO_FATAL_FAILURE(expect_as_scalar(core::DataType::f16, field << 10 | fraction));
    }
  }
}

// Tests bf16 with the exponents at both ends, where blocks stop being plain, and with two in
// between. All others are like those two except for their scale.
TEST(Differential, EveryBf16EncodesInBlocksAsInTheScalarLoops) {
  for (std::uint32_t field = 0; field < 256; ++field) {
    if (field > 18 && field < 251 && field != 126 && field != 127) continue;
    for (const std::uint32_t fraction : {0, 1, 126, 127}) {
      ASSERT_NO_FATAL_FAILURE(expect_as_scalar(core::DataType::bf16, field << 7 | fraction));
    }
  }
}

TEST(Differential, SetsAreFoundByName) {
  EXPECT_EQ(find_kernels("scalar"), &supported_kernels().front());
  EXPECT_EQ(find_kernels(kernels().name), &supported_kernels().back());
  EXPECT_EQ(find_kernels("no such set"), nullptr);
}

}  // namespace
}  // namespace infold::numeric
