// SPDX-License-Identifier: Apache-2.0
//
// One rank of a job. The job's ranks add up tensors inside the network. Calls return at once with a
// Handle. A call borrows its tensors until it is done (handle.h). The n-th call of a rank belongs
// with the n-th call of every other rank. All ranks must agree on size, type, operation and root.
//
// A failed call leaves its inputs as they were. An output in other memory may hold some results. A
// failed call also ends the job on every rank, because the other ranks' sums need this rank's data.
// Later calls fail with `aborted`. To go on, make new communicators. A call that is refused for its
// arguments is a failed call, too. Any thread may call any method. Threads that share a
// communicator must make their calls in the same order on every rank. Only one thread may move or
// destroy a communicator.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <infold/encoded.h>
#include <infold/handle.h>
#include <infold/join_options.h>
#include <infold/options.h>
#include <infold/result.h>
#include <infold/rows.h>
#include <infold/tensor.h>

namespace infold {

namespace rank {
class Member;
}

class Communicator {
 public:
  // Joins a job over the network, as one of its ranks. Blocks until all ranks have come, at most
  // for options.deadline. The error names what is missing: a switch that does not answer, ranks
  // that have not come, options that ranks disagree about.
  static Result<Communicator> join(const JoinOptions& options = {});

  // Belongs to no job: every call fails with invalid_argument. A moved-from communicator belongs to
  // no job either.
  Communicator() = default;
  explicit Communicator(std::shared_ptr<rank::Member> member);
  Communicator(Communicator&& other) noexcept = default;
  Communicator& operator=(Communicator&& other) noexcept;
  // Leaves the job. Calls in flight fail with `cancelled`: here at once, and at the other ranks
  // with this rank's number. Takes a few milliseconds, at most 200. Where ranks aggregate for each
  // other, it waits up to 2 s for ranks that have not left.
  ~Communicator();

  // Every rank's output becomes the reduction of all inputs. Input and output may be the same or
  // overlap.
  Handle all_reduce(TensorView input, MutableTensorView output, const CallOptions& options = {});
  Handle all_reduce(MutableTensorView in_place, const CallOptions& options = {});

  // The same for a tensor that is given by its rows, as input, as output or as both. Ranks with
  // rows and ranks with Layout::blocks may meet in one call. They must agree on the size of the
  // whole tensor, rows x row_elements. The result has the rows with an element that is not zero,
  // and these have the bits of a dense sum. For sum, average and or; not for fixed32.
  Handle all_reduce(const RowsView& input, Rows& output, const CallOptions& options = {});
  Handle all_reduce(const RowsView& input, MutableTensorView output,
                    const CallOptions& options = {});

  // The sum of tensors that are encoded already, which stays encoded: the sum of what they stand
  // for, with the bits that any tensors with these values give. Input and output have one format,
  // and memory of their own. Ranks with tensors in memory may take part, in that wire format.
  Handle all_reduce(const EncodedView& input, const MutableEncodedView& output,
                    const CallOptions& options = {});

  // The same as the first for the root's output alone. Other ranks' outputs are not used and may be
  // empty.
  Handle reduce(TensorView input, MutableTensorView output, int root,
                const CallOptions& options = {});

  // Reduces every tensor of a list, in place and in one call. All are of one type. Small tensors
  // share packets, and have the bits that each has alone. The list itself is read before the call
  // returns. After a failure all tensors are as they were, except large ones with keep_input off.
  Handle all_reduce_list(std::span<const MutableTensorView> tensors,
                         const CallOptions& options = {});

  // Every rank's tensor becomes a copy of the root's, bit for bit.
  Handle broadcast(MutableTensorView tensor, int root, const CallOptions& options = {});

  // Every rank's output becomes all inputs in the order of ranks, bit for bit. The input may be
  // this rank's part of the output.
  Handle all_gather(TensorView input, MutableTensorView output, const CallOptions& options = {});

  // Every rank's output becomes its part of the reduction. There are as many parts of equal size as
  // ranks. The output may be this rank's part of the input.
  Handle reduce_scatter(TensorView input, MutableTensorView output,
                        const CallOptions& options = {});

  // Done once every rank has called it.
  Handle barrier(const CallOptions& options = {});

  // Why the job is over, as far as this rank has heard. It hears at once of a rank that died. It
  // hears of a rank that left in good order with the next call. For programs that wait for ranks by
  // other means than calls. Not for a job that comes back (JoinOptions::rejoin). Takes a lock of
  // the data path: call it tens of times a second at most.
  std::optional<Error> failure() const;

  int rank() const;   // -1 without a job
  int world() const;  // 0 without a job
  Statistics statistics() const;
  // The interface that this rank's packets leave from, as "10.0.0.3 (eth1)". Empty if no packet
  // leaves.
  std::string interface() const;

 private:
  std::shared_ptr<rank::Member> member_;
};

}  // namespace infold
