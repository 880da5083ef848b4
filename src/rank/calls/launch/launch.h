// SPDX-License-Identifier: Apache-2.0
//
// How one call is made: which transfers it takes, and how its result comes of them. There is one
// class for each kind of request: whole, encoded, agreed, digits, parts, list, blocks, rows. A
// launch owns no worker, clock or thread. The member submits its transfers and tells it what is
// done.
//
//   begin() -> transfer(0) ... transfer(n - 1) -> size_after() of those that give a size
//           -> deliver(), if all transfers succeeded -> clear()
//
// A launch stays where it is while its transfers are in flight, and keeps its memory for the next
// call. Not thread-safe; transfer() is called under the driver's lock and takes no time.
#pragma once

#include <cstdint>
#include <optional>

#include <infold/result.h>

#include "base/instant.h"
#include "codec/format_choice.h"
#include "core/worker/worker.h"
#include "rank/calls/request.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

using codec::FormatChoice;

// What a launch has to know besides the request.
struct LaunchTerms {
  FormatChoice format;
  int rank = 0;
  int world = 1;
  base::Instant deadline;
  core::ChunkLimits limits = {};  // the job's
  base::Instant started = {};     // of a call whose layout is automatic
  // This rank's, of a sparse call beside which ranks join their opinions.
  std::optional<sparse::Opinions> opinion = {};
};

// What others have to know of a launch.
struct LaunchOutline {
  std::uint32_t transfers = 1;
  // So many of the first give the one behind each its size.
  std::uint32_t sizing = 0;
  // As many as the world or the list has, which the worker's tables need not hold all at once.
  // Otherwise all transfers are submitted in one moment.
  bool one_by_one = false;
  std::uint64_t elements = 0;  // for messages
  bool composed = false;       // see FailedCall
  bool exchanges = false;      // likewise
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

  // Reads the input where transfers do not. Borrows the request's tensors, not the request. An
  // error's message is without the call's name. Throws std::bad_alloc.
  virtual Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) = 0;
  // Called once for each, in order; `before` is the transfer before this one, if any.
  virtual core::TransferRequest transfer(std::uint32_t number, core::TransferId before) = 0;
  // This transfer is done: the size of the next. Only of the first `sizing`. Throws std::bad_alloc.
  virtual Size size_after([[maybe_unused]] std::uint32_t number,
                          [[maybe_unused]] base::Instant now) {
    return {};
  }
  // All transfers are done: writes the result. An error is one that all ranks find in this call, so
  // that the job goes on; its message is without the call's name. Throws std::bad_alloc.
  virtual std::optional<Error> deliver() = 0;
  // What this call tells about layouts; without blocks if the call was dense. Before clear().
  virtual sparse::LayoutChoice::Outcome outcome() const { return {}; }
  // Gives staging memory back. No transfer is in flight any more.
  virtual void clear() = 0;
};

// All of a transfer but whose tensor it is.
core::TransferRequest blank_transfer(const CallRequest& request, const LaunchTerms& terms);
// The transfer of one tensor: a request that is neither a list, nor in parts or rows. Its result
// goes to the output at once.
core::TransferRequest tensor_transfer(const CallRequest& request, const LaunchTerms& terms);

}  // namespace infold::rank
