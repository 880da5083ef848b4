// SPDX-License-Identifier: Apache-2.0
//
// Times one rank's all-reduces of one size. Every rank of the job measures the same sizes in the
// same order. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/communicator.h>

#include "cli/bench/allreduce_tensors.h"
#include "lab/measure/processor_time.h"

namespace infold::cli {

// The options that all sizes of a run share.
struct Allreduces {
  std::string dtype = "f32";  // or f64, i32
  std::string wire;           // empty: automatic if floats are summed
  Reduction reduction = Reduction::sum;
  Layout layout = Layout::dense;
  bool of_rows = false;
  lab::ZerosOptions zeros;
  std::uint64_t iterations = 0;           // 0 chooses by size
  std::optional<std::uint64_t> warm_ups;  // default: a tenth of the iterations, 1 to 10
  bool check = false;

  // Returns "native" and so on, or the type if the elements travel unchanged.
  std::string wire_name() const;
  bool travels_as_it_is() const;
};

struct Timing {
  std::uint64_t elements = 0;
  std::vector<double> seconds;
  lab::ProcessorTime cpu;
  std::uint64_t resent = 0;
  std::uint64_t asked = 0;
  std::uint64_t calls_sparse = 0;  // calls that left out zeros
  // Packets in a message to the kernel and from it, on average. 0 if the path has no socket.
  double sent_together = 0;
  double received_together = 0;
  std::string error;
  std::optional<std::uint64_t> wrong;  // wrong elements of the last result; unset: not checked
};

// Times calls of one size. After a failed call or a stop request it returns early, with an error or
// without a sample.
Timing time_allreduces(Communicator& communicator, const Allreduces& calls, std::uint64_t bytes,
                       bool in_place, const std::stop_token& stop);

}  // namespace infold::cli
