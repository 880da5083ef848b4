// SPDX-License-Identifier: Apache-2.0
//
// The kernels that `infold bench kernels` measures, each with buffers to run on. A pass runs one
// kernel over a whole working set, chunk by chunk, with chunks as large as a datagram of MTU 1500
// holds and lying in datagrams as they are sent: behind a header, elements behind exponents.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "numeric/codec.h"

namespace infold::lab {

struct KernelCase {
  // Bytes of tensor that one pass reads (encode, add) or writes (decode), counted once. A copy of
  // as many bytes is what the kernel is compared with.
  std::size_t tensor_bytes = 0;
  std::function<void()> pass;  // owns the buffers
  // It only reads most of them, and is compared with that instead.
  bool mostly_reads = false;
};

struct KernelBench {
  std::string name;
  // Buffers of about `bytes` in all, filled; the kernel is the given set's.
  std::function<KernelCase(const numeric::KernelSet& set, std::size_t bytes)> make;
};

// In the order of the table.
std::vector<KernelBench> kernel_benches();

}  // namespace infold::lab
