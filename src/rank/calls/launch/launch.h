// SPDX-License-Identifier: Apache-2.0
//
// How one call is made: which transfers it takes, and how they give its result. There is one class
// for each kind of request: whole, encoded, agreed, digits, parts, list, blocks, rows. A launch
// does not own a worker, clock or thread. The member submits its transfers and tells it which are
// done.
//
//   begin() -> transfer(0) ... transfer(n - 1) -> size_after() of those that give a size
//           -> deliver(), if all transfers succeeded -> clear()
//
// A launch must not move while its transfers are in flight. It keeps its memory for the next call.
// Not thread-safe. transfer() is called under the driver's lock and must be quick.
#pragma once

#include <cstdint>
#include <optional>

#include <infold/result.h>

#include "base/instant.h"
#include "core/worker/worker.h"
#include "encoding/format_choice.h"
#include "rank/calls/request.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

using encoding::FormatChoice;

// What a launch needs to know besides the request.
struct LaunchTerms {
  FormatChoice format;
  int rank = 0;
  int world = 1;
  base::Instant deadline;
  core::ChunkLimits limits = {};  // the job's
  base::Instant started = {};     // set for calls whose layout is automatic
  // This rank's opinion, if the ranks join their opinions in this sparse call.
  std::optional<sparse::Opinions> opinion = {};
};

// What other classes need to know of a launch.
struct LaunchOutline {
  std::uint32_t transfers = 1;
  // How many of the first transfers determine the size of the transfer that follows each.
  std::uint32_t sizing = 0;
  // The number of transfers grows with the world or the list, so the worker's tables need not hold
  // all at once. Otherwise all transfers are submitted together.
  bool one_by_one = false;
  std::uint64_t elements = 0;  // for messages
  bool composed = false;       // see FailedCall
  bool exchanges = false;      // see FailedCall
  bool input_survives = true;  // if the call fails
  bool leaves_out_zeros = false;
};

class Launch {
 public:
  struct Size {
    std::uint64_t elements = 0;
    const std::uint32_t* present = nullptr;  // see core::Worker::set_size()
  };

  virtual ~Launch() = default;

  // Reads the input that transfers do not read. Borrows the request's tensors, but not the request.
  // An error's message omits the call's name. Throws std::bad_alloc.
  virtual Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) = 0;
  // Called once for each transfer, in order; `before` is the transfer before this one, if any.
  virtual core::TransferRequest transfer(std::uint32_t number, core::TransferId before) = 0;
  // Called when this transfer is done, if it is one of the first `sizing`. Returns the size of the
  // next transfer. Throws std::bad_alloc.
  virtual Size size_after([[maybe_unused]] std::uint32_t number,
                          [[maybe_unused]] base::Instant now) {
    return {};
  }
  // Called when all transfers are done; writes the result. All ranks find the same error in this
  // call, so the job continues. The error's message omits the call's name. Throws std::bad_alloc.
  virtual std::optional<Error> deliver() = 0;
  // What can be learnt from this call about layouts; it has no blocks if the call was dense.
  // Requires: clear() has not been called.
  virtual sparse::LayoutChoice::Outcome outcome() const { return {}; }
  // Returns staging memory to the pool. Requires: no transfer is in flight.
  virtual void clear() = 0;
};

// A transfer without its tensor.
core::TransferRequest blank_transfer(const CallRequest& request, const LaunchTerms& terms);
// The transfer of one tensor, for a request that is not a list and not in parts or rows. Its result
// goes directly to the output.
core::TransferRequest tensor_transfer(const CallRequest& request, const LaunchTerms& terms);

}  // namespace infold::rank
