// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's handle of one call of the delegate. The call begins after the fingerprints of all ranks
// have been compared. The first thread that notices its end copies the results into the caller's
// tensors.
//
// Any thread may call any method, but only one may call begin().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "io/host/own_process.h"
#include "python/backend/completions.h"
#include "python/backend/delegate/watch.h"

namespace infold::pytorch {

// Pairs of a tensor of the host and the caller's tensor.
using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;

class DelegatedWork final : public ::c10d::Work {
 public:
  using Works = c10::intrusive_ptr<::c10d::Work>;
  using Begin = std::function<Works()>;

  // Makes the work of a call that has already begun.
  DelegatedWork(Works work, Copies copies, std::vector<at::Tensor> outputs);
  // For a call that begins after `check` has succeeded. `name` is the call's name in errors.
  struct Checked {
    Works check;
    Begin begin;
    std::string name;
    std::shared_ptr<Watch> watch;
    std::shared_ptr<Completions> completions;
  };
  DelegatedWork(Checked checked, Copies copies, std::vector<at::Tensor> outputs);
  ~DelegatedWork() override;

  // Blocks until the check has ended, which its deadline bounds, and begins the call or fails.
  void begin();

  bool isCompleted() override;
  bool isSuccess() const override;
  int sourceRank() const override;
  void abort() override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  class CopyingBack;

  Works work() const;
  Works work_once_begun(std::chrono::milliseconds timeout);
  void conclude(const std::exception_ptr& failure);
  std::exception_ptr explain(const std::exception_ptr& failure) const;
  bool is_future_done() const;
  void resolve(bool is_seen);

  const io::OwnProcess process_;
  Checked checked_;  // empty if the call had already begun
  const std::shared_ptr<CopyingBack> back_;
  const std::vector<at::Tensor> outputs_;

  // mutex_ guards all members below. It is torch's std::mutex, which clang cannot check.
  Works work_;            // null until begun
  Watch::Token watched_;  // until the call has ended
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  bool is_resolved_ = false;
};

}  // namespace infold::pytorch
