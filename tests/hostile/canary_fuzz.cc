// SPDX-License-Identifier: Apache-2.0
//
// The canary among the fuzzers. With INFOLD_FUZZ_CANARY set, it fails for every input that begins
// with "sing", like a real finding. A test sets the variable and expects the failure, so it finds a
// harness that hides failures.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool armed = std::getenv("INFOLD_FUZZ_CANARY") != nullptr;
  if (!armed || size < 4 || std::memcmp(data, "sing", 4) != 0) return 0;
  std::fprintf(stderr, "the canary sings\n");
  std::exit(1);
}
