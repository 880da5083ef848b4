// SPDX-License-Identifier: Apache-2.0
//
// A communicator is one rank of a job, whose ranks add up tensors inside the network. Calls return
// at once with a Handle, and a call borrows its tensors until it is done (handle.h). The n-th call
// of a rank belongs with the n-th call of every other rank. All ranks must agree on size, type,
// operation and root.
//
// A failed call leaves its inputs as they were. An output in separate memory may already hold some
// results. A failed call also ends the job on every rank, because the other ranks' sums need this
// rank's data. A call that is refused for its arguments counts as failed as well. Later calls fail
// with `aborted`; to go on, make new communicators. Any thread may call any method. Threads that
// share a communicator must make their calls in the same order on every rank. Only one thread may
// move or destroy a communicator.
//
// A communicator belongs to the process that made it. In a child that was forked from that process,
// every call and every handle fails with invalid_argument, and destroying them has no effect.
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
  // Joins a job over the network, as one of its ranks. Blocks until all ranks have joined, at most
  // for options.deadline. The error names the cause: a switch that does not answer, ranks that have
  // not joined, or options that ranks disagree about.
  static Result<Communicator> join(const JoinOptions& options = {});

  // Makes a communicator without a job, on which every call fails with invalid_argument. A
  // moved-from communicator has no job either.
  Communicator() = default;
  explicit Communicator(std::shared_ptr<rank::Member> member);
  Communicator(Communicator&& other) noexcept = default;
  Communicator& operator=(Communicator&& other) noexcept;
  // Leaves the job. Calls in flight fail with `cancelled`: here at once, and at the other ranks
  // with this rank's number. Leaving takes a few milliseconds, at most 200. Where ranks aggregate
  // for each other, it waits up to 2 s for ranks that have not left yet.
  ~Communicator();

  // Every rank's output becomes the reduction of all inputs. Input and output may be the same
  // memory or overlap.
  Handle all_reduce(TensorView input, MutableTensorView output, const CallOptions& options = {});
  Handle all_reduce(MutableTensorView in_place, const CallOptions& options = {});

  // Does the same for a tensor whose input, output or both are given as rows. Ranks with rows and
  // ranks with Layout::blocks may take part in one call. They must agree on the size of the whole
  // tensor, rows x row_elements. The result lists the rows that have a nonzero element, with the
  // bits of a dense sum. This works for sum, average and or, but not with fixed32.
  Handle all_reduce(const RowsView& input, Rows& output, const CallOptions& options = {});
  Handle all_reduce(const RowsView& input, MutableTensorView output,
                    const CallOptions& options = {});

  // Sums tensors that are already encoded, and leaves the result encoded. The result has the same
  // bits as a sum of ordinary tensors with these values. Input and output have the same format and
  // do not overlap. Other ranks may take part with ordinary tensors in that wire format.
  Handle all_reduce(const EncodedView& input, const MutableEncodedView& output,
                    const CallOptions& options = {});

  // Reduces all inputs as all_reduce() does, but only into the root's output. Other ranks' outputs
  // are not used and may be empty.
  Handle reduce(TensorView input, MutableTensorView output, int root,
                const CallOptions& options = {});

  // Reduces every tensor of a list, in place and in one call. All tensors have the same type. Small
  // tensors share packets, but each gets the bits that it would get alone. The list itself is read
  // before the call returns. After a failure all tensors are as they were, except large ones with
  // keep_input off.
  Handle all_reduce_list(std::span<const MutableTensorView> tensors,
                         const CallOptions& options = {});

  // Every rank's tensor becomes a copy of the root's, bit for bit.
  Handle broadcast(MutableTensorView tensor, int root, const CallOptions& options = {});

  // Every rank's output becomes all ranks' inputs in the order of ranks, bit for bit. The input may
  // be this rank's part of the output.
  Handle all_gather(TensorView input, MutableTensorView output, const CallOptions& options = {});

  // Every rank's output becomes its own part of the reduction. The tensor has one part for each
  // rank, all of equal size. The output may be this rank's part of the input.
  Handle reduce_scatter(TensorView input, MutableTensorView output,
                        const CallOptions& options = {});

  // The call is done once every rank has made it.
  Handle barrier(const CallOptions& options = {});

  // Returns why the job is over, as far as this rank knows. A rank hears at once of another rank
  // that died. It hears of a rank that left in good order only at its next call. This is for
  // programs that wait for ranks by other means than calls, and not for a job that comes back
  // (JoinOptions::rejoin). It takes a lock of the data path, so call it tens of times a second at
  // most.
  std::optional<Error> failure() const;

  int rank() const;   // -1 without a job
  int world() const;  // 0 without a job
  Statistics statistics() const;
  // Returns the interface that this rank's packets leave from, such as "10.0.0.3 (eth1)". It is
  // empty if this rank sends no packets.
  std::string interface() const;

 private:
  std::shared_ptr<rank::Member> member_;
};

}  // namespace infold
