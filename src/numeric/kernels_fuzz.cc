// SPDX-License-Identifier: Apache-2.0
//
// Compares all kernels of all instruction sets with the scalar loops. The first two bytes choose
// the kernel; the rest is its input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "base/check.h"
#include "numeric/differential.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using infold::numeric::Differential;
  if (size < 2) return 0;
  const std::uint32_t choice = static_cast<std::uint32_t>(data[0]) << 8 | data[1];
  const std::span<const std::uint8_t> rest(data + 2, size - 2);
  for (const infold::numeric::KernelSet& set : infold::numeric::supported_kernels()) {
    Differential differential(set, infold::numeric::InputBytes(rest));
    const std::string difference = differential.compare(choice % Differential::kKernels);
    if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
    CHECK(difference.empty());
  }
  return 0;
}
