// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of every instruction set that this processor runs, against the scalar loops.
#include "numeric/differential.h"

#include <array>
#include <cstdint>
#include <string>

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
      const int repetitions = kernel < 19 ? 100 : 8;
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        std::array<std::uint8_t, 8> bytes;
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(prng.next());
        Differential differential(set, InputBytes(bytes));
        ASSERT_EQ(differential.compare(kernel), "") << "kernel " << kernel;
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
