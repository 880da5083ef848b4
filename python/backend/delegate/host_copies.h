// SPDX-License-Identifier: Apache-2.0
//
// The delegate sees contiguous tensors of the host, of types that it knows. Others are copied for
// it, and what it wrote is copied back once somebody waits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "python/backend/delegate/delegated_work.h"

namespace infold::pytorch {

// What is done with elements: for those that are only moved, their type is none of the delegate's
// business, and it does not see those of messages.
enum class Use : std::uint8_t { reduce, move, send };

class HostCopies {
 public:
  explicit HostCopies(Use use) : use_(use) {}

  // The tensor itself where it will do.
  at::Tensor read(const at::Tensor& tensor) const;
  at::Tensor written(const at::Tensor& tensor);
  std::vector<at::Tensor> read(const std::vector<at::Tensor>& tensors) const;
  std::vector<at::Tensor> written(const std::vector<at::Tensor>& tensors);
  // All of them, one after the other in one tensor.
  at::Tensor read_joined(const std::vector<at::Tensor>& tensors) const;
  at::Tensor written_joined(const std::vector<at::Tensor>& tensors);

  // The delegate's work, with the copying back as a part of it.
  DelegatedWork::Works after(DelegatedWork::Works work) const;
  // The same of a call that is to begin once a check has succeeded.
  c10::intrusive_ptr<DelegatedWork> after_check(DelegatedWork::Checked checked) const;

 private:
  bool takes(at::ScalarType type) const;
  bool will_do(const at::Tensor& tensor) const;
  at::Tensor host_form(const at::Tensor& tensor) const;
  at::Tensor shown(const at::Tensor& host) const;

  Use use_;
  Copies copies_;
  std::vector<at::Tensor> outputs_;  // the caller's, all that are written
};

}  // namespace infold::pytorch
