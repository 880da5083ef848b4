// SPDX-License-Identifier: Apache-2.0
//
// The kernels that `infold bench kernels` measures, each with buffers to run on. A pass runs one
// kernel over a whole working set, chunk by chunk. A chunk fills a datagram of MTU 1500 and lies in
// it as it is sent: behind a header, elements behind exponents.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "numeric/codec.h"

namespace infold::lab {

struct KernelCase {
  // Bytes of tensor that one pass reads (encode, add) or writes (decode), counted once. The kernel
  // is compared with a copy of so many bytes.
  std::size_t tensor_bytes = 0;
  std::function<void()> pass;  // owns the buffers
  // The kernel only reads most of the bytes, and is compared with reading them.
  bool mostly_reads = false;
};

struct KernelBench {
  std::string name;
  // Makes buffers of about `bytes` in all and fills them. The kernel is the given set's.
  std::function<KernelCase(const numeric::KernelSet& set, std::size_t bytes)> make;
};

// Returns the kernels in the order of the table.
std::vector<KernelBench> kernel_benches();

}  // namespace infold::lab
