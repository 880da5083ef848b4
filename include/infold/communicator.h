// SPDX-License-Identifier: Apache-2.0
//
// One rank of a job whose ranks add up tensors inside the network. Calls return at once with a
// Handle; their tensors are borrowed until it is done (handle.h). The n-th call of a rank belongs
// with the n-th call of every other rank, and all must agree on size, type, operation and root.
//
// A failed call leaves its inputs as they were; an output apart from them may hold some results. It
// also ends the job on every rank, since the others' sums count on it: later calls fail with
// `aborted`, and the way on is to make new communicators. A call refused for its arguments is a
// failed call too. Any thread may call any method; threads that share a communicator must bring
// their calls into the same order on every rank. Moving and destroying are for one thread alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

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
  // Joins a job over the network, as one of its ranks; blocks until all of them have come, or for
  // options.deadline. The error names what is missing: a switch that does not answer, ranks that
  // have not come, options that ranks disagree about.
  static Result<Communicator> join(const JoinOptions& options = {});

  // Belongs to no job: every call fails with invalid_argument. So does a moved-from one.
  Communicator() = default;
  explicit Communicator(std::shared_ptr<rank::Member> member);
  Communicator(Communicator&& other) noexcept = default;
  Communicator& operator=(Communicator&& other) noexcept;
  // Leaves the job: calls in flight fail with `cancelled`, here at once, and at the other ranks
  // with this rank's number. Takes a few milliseconds, at most 200; where ranks aggregate for each
  // other it waits up to 2 s for those that have not left.
  ~Communicator();

  // Every rank's output becomes the reduction of all inputs. The two may be the same or overlap.
  Handle all_reduce(TensorView input, MutableTensorView output, const CallOptions& options = {});
  Handle all_reduce(MutableTensorView in_place, const CallOptions& options = {});

  // The same of tensors given by those of their rows that are not zeros, as one is or as the other.
  // Ranks with rows and ranks with Layout::blocks meet in one call, where the whole tensor, rows x
  // row_elements, is of one size. The sum's rows are those that hold anything but zeros, and have
  // the same bits as a dense sum has there. With sum, average and or; not with fixed32.
  Handle all_reduce(const RowsView& input, Rows& output, const CallOptions& options = {});
  Handle all_reduce(const RowsView& input, MutableTensorView output,
                    const CallOptions& options = {});

  // The same for the root's output alone; other ranks' outputs are not used and may be empty.
  Handle reduce(TensorView input, MutableTensorView output, int root,
                const CallOptions& options = {});

  // Every tensor of a list, in place and in one call; all are of one type. Small ones share
  // packets, which saves a packet for each, and have the bits that they have alone. The list itself
  // is read before the call returns. Reduced in one piece: after a failure all are as they were,
  // but for large ones with keep_input off.
  Handle all_reduce_list(std::span<const MutableTensorView> tensors,
                         const CallOptions& options = {});

  // Every rank's tensor becomes a copy of the root's, bit for bit.
  Handle broadcast(MutableTensorView tensor, int root, const CallOptions& options = {});

  // Every rank's output becomes all inputs in the order of ranks, bit for bit. The input may be
  // this rank's part of the output.
  Handle all_gather(TensorView input, MutableTensorView output, const CallOptions& options = {});

  // Every rank's output becomes its part of the reduction: of as many parts of equal size as there
  // are ranks. The output may be this rank's part of the input.
  Handle reduce_scatter(TensorView input, MutableTensorView output,
                        const CallOptions& options = {});

  // Done once every rank has called it.
  Handle barrier(const CallOptions& options = {});

  // Why the job is over, as far as this rank has heard: of a rank that died at once, of one that
  // left in good order with the next call. For programs that wait for ranks by other means than
  // calls, and would wait in vain. Not for a job that is to come back (JoinOptions::rejoin). Takes
  // a lock of the data path's: ask tens of times a second, not more.
  std::optional<Error> failure() const;

  int rank() const;   // -1 without a job
  int world() const;  // 0 without a job
  Statistics statistics() const;
  // Where this rank's packets leave from, "10.0.0.3 (eth1)"; empty where none do.
  std::string interface() const;

 private:
  std::shared_ptr<rank::Member> member_;
};

}  // namespace infold
