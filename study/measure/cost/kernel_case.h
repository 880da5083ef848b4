// SPDX-License-Identifier: Apache-2.0
//
// The kernels that `infold bench kernels` measures, each with buffers to run on. A pass runs one
// kernel over a whole working set, chunk by chunk. A chunk fills a datagram for MTU 1500 and lies
// in it as it is sent: after the header, exponents first, then elements.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "numeric/codec.h"

namespace infold::measure {

struct KernelCase {
  // Bytes of tensor that one pass reads (encode, add) or writes (decode), counted once. The kernel
  // is compared with copying this many bytes.
  std::size_t tensor_bytes = 0;
  std::function<void()> pass;  // owns the buffers
  // True if the kernel mostly reads. It is then compared with reading the bytes.
  bool mostly_reads = false;
};

struct KernelBench {
  std::string name;
  // Makes buffers of about `bytes` in total and fills them. The kernel comes from the given set.
  std::function<KernelCase(const numeric::KernelSet& set, std::size_t bytes)> make;
};

// Returns the kernels in the order of the table.
std::vector<KernelBench> kernel_benches();

}  // namespace infold::measure
