// SPDX-License-Identifier: Apache-2.0
//
// Times the all-reduces of one size on one rank. All ranks of the job must measure the same sizes
// in the same order. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/communicator.h>

#include "cli/bench/allreduce_tensors.h"
#include "study/measure/cost/processor_time.h"

namespace infold::cli {

// The options that all sizes of a run share.
struct Allreduces {
  std::string dtype = "f32";  // or f64, i32
  std::string wire;           // empty: automatic if floats are summed
  Reduction reduction = Reduction::sum;
  Layout layout = Layout::dense;
  bool of_rows = false;
  measure::ZerosOptions zeros;
  std::uint64_t iterations = 0;           // 0: chosen by size
  std::optional<std::uint64_t> warm_ups;  // default: a tenth of the iterations, 1 to 10
  bool check = false;

  bool travels_as_it_is() const;
  WireFormat format() const;  // the format that the calls ask for
};

struct Timing {
  std::uint64_t elements = 0;
  std::string format;  // the format that the calls had, such as "native", or the type if it travels
                       // unchanged
  std::vector<double> seconds;
  measure::ProcessorTime cpu;
  std::uint64_t resent = 0;
  std::uint64_t asked = 0;
  std::uint64_t calls_sparse = 0;  // calls that left out zeros
  // The average number of packets in one message to the kernel, and in one from it. 0 if the path
  // does not use a socket.
  double sent_together = 0;
  double received_together = 0;
  std::string error;
  std::optional<std::uint64_t> wrong;  // wrong elements in the last result; unset: not checked
};

// Times calls of one size. It returns early after a failed call, with an error, and after a stop
// request, possibly without a sample.
Timing time_allreduces(Communicator& communicator, const Allreduces& calls, std::uint64_t bytes,
                       bool in_place, const std::stop_token& stop);

}  // namespace infold::cli
