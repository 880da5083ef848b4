// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of every instruction set that this processor runs, against the scalar loops.
#include "numeric/differential.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::numeric {
namespace {

TEST(Differential, EveryKernelOfEverySetWritesWhatTheScalarOneDoes) {
  constexpr std::uint64_t kSeed = 20261121;
  for (const KernelSet& set : supported_kernels()) {
    base::Prng prng(kSeed);
    for (std::uint32_t kernel = 0; kernel < Differential::kKernels; ++kernel) {
      // Most codecs do not exist; of the others, fewer repetitions suffice where each is long.
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

// Decoding to 16-bit floats rounds by other means than the scalar loops: every mantissa, with codes
// at both ends of what is plain and in between.
TEST(Differential, EveryMantissaDecodesTo16BitFloatsAsTheScalarLoopsHaveIt) {
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
        ->decode(reinterpret_cast<std::byte*>(tensor.data()), range, received);
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

TEST(Differential, SetsAreFoundByName) {
  EXPECT_EQ(find_kernels("scalar"), &supported_kernels().front());
  EXPECT_EQ(find_kernels(kernels().name), &supported_kernels().back());
  EXPECT_EQ(find_kernels("no such set"), nullptr);
}

}  // namespace
}  // namespace infold::numeric
