// SPDX-License-Identifier: Apache-2.0
//
// The delegate takes contiguous tensors of the host, of types that it knows. Other tensors are
// copied for it, and the first thread that waits copies its results back.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "python/backend/delegate/delegated_work.h"

namespace infold::pytorch {

// What a call does with elements. Elements that are only moved may travel as bytes. Messages always
// travel as bytes, so the delegate does not see their types.
enum class Use : std::uint8_t { reduce, move, send };

class HostCopies {
 public:
  explicit HostCopies(Use use) : use_(use) {}

  // The tensor itself if the delegate accepts it, otherwise a copy.
  at::Tensor read(const at::Tensor& tensor) const;
  at::Tensor written(const at::Tensor& tensor);
  std::vector<at::Tensor> read(const std::vector<at::Tensor>& tensors) const;
  std::vector<at::Tensor> written(const std::vector<at::Tensor>& tensors);
  // All tensors, one after the other in one tensor.
  at::Tensor read_joined(const std::vector<at::Tensor>& tensors) const;
  at::Tensor written_joined(const std::vector<at::Tensor>& tensors);

  // The delegate's work, followed by the copies back.
  DelegatedWork::Works after(DelegatedWork::Works work) const;
  // The same for a call that begins after a check has succeeded.
  c10::intrusive_ptr<DelegatedWork> after_check(DelegatedWork::Checked checked) const;

 private:
  bool takes(at::ScalarType type) const;
  bool will_do(const at::Tensor& tensor) const;
  at::Tensor host_form(const at::Tensor& tensor) const;
  at::Tensor shown(const at::Tensor& host) const;

  Use use_;
  Copies copies_;
  std::vector<at::Tensor> outputs_;  // the caller's tensors that are written
};

}  // namespace infold::pytorch
