// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's process group backend "infold". Collectives that the network can sum go through a
// communicator. All other calls go through the delegate, a backend that PyTorch provides (Gloo).
// One backend serves cpu and cuda.
//
// All ranks of a group call its methods in the same order, from one thread or from several. The
// work that a call returns ends even if nobody waits for it. group_job.h says when calls begin. In
// a forked child, calls throw, and ending the group has no effect (forked.h).
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/mutex.h"
#include "io/host/own_process.h"
#include "python/backend/completions.h"
#include "python/backend/compressed/compressor.h"
#include "python/backend/delegate/call_fingerprint.h"
#include "python/backend/delegate/delegation.h"
#include "python/backend/delegate/host_copies.h"
#include "python/backend/delegate/messages.h"
#include "python/backend/delegate/watch.h"
#include "python/backend/group_job.h"
#include "python/backend/interpreter.h"
#include "python/backend/tensors.h"
#include "python/backend/work.h"

namespace infold::pytorch {

// What a group begins with: its store, and the delegate.
struct Beginning {
  c10::intrusive_ptr<::c10d::Store> store;
  c10::intrusive_ptr<::c10d::Backend> delegate;
};
using Begin = std::function<Beginning(const c10::intrusive_ptr<::c10d::Store>& store, int rank,
                                      int size, std::chrono::milliseconds timeout)>;

struct BackendOptions {
  JoinOptions join;                     // rank, world and rendezvous are filled in
  std::chrono::milliseconds timeout{};  // for calls that do not have their own timeout
  Layout layout = Layout::dense;        // for sums that can be sparse
  Begin begin = {};                     // makes groups that are split from this one
  // The secret of ranks that meet at rank 0; empty: rank 0 draws one and writes it to the store.
  std::string token = {};
};

// How one sum travels. The group's options complete what is left open here.
struct Travel {
  WireFormat wire = WireFormat::automatic;
  std::optional<Layout> layout = {};
};

class Backend final : public ::c10d::Backend {
 public:
  using Works = c10::intrusive_ptr<::c10d::Work>;
  using Tensors = std::vector<at::Tensor>;

  Backend(c10::intrusive_ptr<::c10d::Store> store, int rank, int size, BackendOptions options,
          c10::intrusive_ptr<::c10d::Backend> delegate);
  ~Backend() override;

  // Does the same as allreduce(), with a wire format and a layout for this call.
  Works allreduce_as(Tensors& tensors, const ::c10d::AllreduceOptions& options,
                     const Travel& travel);
  // Replaces each gradient by its mean over all ranks, compressed on the network. `names` are the
  // names of the parameters. Later calls of the group begin after this one. `hidden` is
  // AverageOptions::hidden.
  Works average_compressed(const std::shared_ptr<Compressor>& compressor,
                           std::vector<std::string> names, Tensors& gradients,
                           std::chrono::milliseconds timeout,
                           std::chrono::microseconds hidden = {});
  // Empty before the first collective, and after the end.
  std::optional<Statistics> statistics() const;
  std::string interface() const;
  const c10::intrusive_ptr<::c10d::Backend>& delegate() const { return delegate_; }
  // Waits for the calls that have begun, then leaves the job. After that, no other rank waits for
  // this one.
  void leave();

  const std::string getBackendName() const override { return "infold"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return shown_options_; }
  bool supportsSplitting() const override { return true; }
  // Makes a group of the named ranks, with this group's options. All named ranks must call it.
  // Returns null at a rank that is not named.
  c10::intrusive_ptr<::c10d::Backend> split(const c10::intrusive_ptr<::c10d::Store>& store,
                                            const std::vector<int>& ranks,
                                            const c10::intrusive_ptr<Options>& options) override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }
  ::c10d::ErrorType getError() override;
  void abort() override;
  void shutdown() override;

  Works allreduce(Tensors& tensors, const ::c10d::AllreduceOptions& options) override;
  Works allreduce_sparse(Tensors& tensors, const ::c10d::AllreduceOptions& options) override;
  Works allreduce_coalesced(Tensors& tensors,
                            const ::c10d::AllreduceCoalescedOptions& options) override;
  Works broadcast(Tensors& tensors, const ::c10d::BroadcastOptions& options) override;
  Works reduce(Tensors& tensors, const ::c10d::ReduceOptions& options) override;
  Works allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                  const ::c10d::AllgatherOptions& options) override;
  Works _allgather_base(at::Tensor& output, at::Tensor& input,
                        const ::c10d::AllgatherOptions& options) override;
  Works allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                            const ::c10d::AllgatherOptions& options) override;
  Works allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                        const ::c10d::AllgatherOptions& options) override;
  Works reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                       const ::c10d::ReduceScatterOptions& options) override;
  Works _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                             const ::c10d::ReduceScatterOptions& options) override;
  Works reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                        const ::c10d::ReduceScatterOptions& options) override;
  Works barrier(const ::c10d::BarrierOptions& options) override;

  // The delegate does these.
  Works gather(std::vector<Tensors>& outputs, Tensors& inputs,
               const ::c10d::GatherOptions& options) override;
  Works scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                const ::c10d::ScatterOptions& options) override;
  Works alltoall_base(at::Tensor& output, at::Tensor& input,
                      std::vector<std::int64_t>& output_splits,
                      std::vector<std::int64_t>& input_splits,
                      const ::c10d::AllToAllOptions& options) override;
  Works alltoall(Tensors& outputs, Tensors& inputs,
                 const ::c10d::AllToAllOptions& options) override;
  Works send(Tensors& tensors, int to, int tag) override;
  Works recv(Tensors& tensors, int from, int tag) override;
  Works recvAnysource(Tensors& tensors, int tag) override;
  void monitoredBarrier(const ::c10d::BarrierOptions& options, bool wait_all) override;

 private:
  Result<Communicator> join(std::stop_token stop) const;
  Result<Communicator> host_meeting(JoinOptions options) const;
  std::optional<Error> wait_for_rank_0(const std::stop_token& stop,
                                       std::chrono::nanoseconds patience) const;
  Result<Communicator> join_unless_rank_0_fails(JoinOptions options) const;
  std::string said_by_rank_0() const;
  Works submit(Recipe recipe, std::chrono::milliseconds timeout);
  // Lets the delegate make a call once all ranks have shown the same fingerprint, and notes the
  // call so that barriers wait for it. send() and recv() do not use it, because their other end is
  // at a single rank and may follow a barrier.
  Works delegated(const HostCopies& copies, const CallFingerprint& fingerprint,
                  DelegatedWork::Begin begin, std::chrono::milliseconds timeout);
  Works tell_all(const CallFingerprint& fingerprint, const at::Tensor& rows,
                 std::chrono::milliseconds timeout);
  std::deque<Works> take_delegated();
  std::deque<Works> take_delegated_that_ended();
  Works allreduce_rows(Tensors& tensors, const ::c10d::AllreduceOptions& options,
                       const Travel& travel);
  CallOptions call_options(std::chrono::milliseconds timeout) const;
  CallOptions sum_options(const Summing& summing, const Travel& travel,
                          std::chrono::milliseconds timeout) const;
  // Whether ranks first exchange exponents or ranges. These cover all elements, so none may be left
  // out.
  bool needs_all_elements(const Summing& summing, const Travel& travel) const;
  // These take several tensors at each rank, which torch allows for ranks with several devices.
  Works allreduce_list(Tensors& tensors, const ::c10d::AllreduceOptions& options);
  Works broadcast_list(Tensors& tensors, const ::c10d::BroadcastOptions& options);
  Works allgather_list(const std::vector<Tensors>& outputs, const Tensors& inputs,
                       const ::c10d::AllgatherOptions& options);
  Recipe gather_lists(const std::vector<Tensors>& outputs, const Tensors& inputs,
                      ::c10d::OpType type, std::chrono::milliseconds timeout);
  Works scatter_each(Tensors& outputs, Tensors& inputs, const ::c10d::ReduceScatterOptions& options,
                     ::c10d::OpType type, const std::function<Works()>& delegated);
  void add_gather(Recipe& recipe, const at::Tensor& output, const at::Tensor& input,
                  std::chrono::milliseconds timeout) const;
  void add_scatter(Recipe& recipe, const at::Tensor& output, const at::Tensor& input,
                   const Summing& summing, std::chrono::milliseconds timeout) const;

  const io::OwnProcess process_;
  Released released_;  // used in destruction; declared early, so that it outlives the delegate
  const c10::intrusive_ptr<::c10d::Store> store_;
  BackendOptions options_;
  const c10::intrusive_ptr<Options> shown_options_;
  const c10::intrusive_ptr<::c10d::Backend> delegate_;
  std::atomic<std::int64_t> timeout_ms_;
  std::atomic<std::uint64_t> sequence_{0};
  const std::shared_ptr<Completions> completions_ = std::make_shared<Completions>();
  const std::shared_ptr<GroupJob> job_;
  const std::shared_ptr<Watch> watch_;
  const std::shared_ptr<Delegation> delegation_ = std::make_shared<Delegation>();
  Messages messages_;
  base::Mutex delegation_order_;  // calls exchange fingerprints and begin in this order
  std::uint64_t calls_delegated_ GUARDED_BY(delegation_order_) = 0;
  base::Mutex delegated_mutex_;
  // Includes all delegated calls that have not ended.
  std::deque<Works> delegated_ GUARDED_BY(delegated_mutex_);
};

}  // namespace infold::pytorch
