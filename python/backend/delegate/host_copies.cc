// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/host_copies.h"

#include "python/backend/tensors.h"

namespace infold::pytorch {
namespace {

bool is_known(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kDouble:
    case at::kChar:
    case at::kByte:
    case at::kInt:
    case at::kLong:
    case at::kBool: return true;
    default: return false;
  }
}

}  // namespace

bool HostCopies::takes(at::ScalarType type) const {
  switch (use_) {
    case Use::reduce: return type != at::kShort;
    case Use::move: return is_known(type);
    case Use::send: return true;
  }
  return false;
}

bool HostCopies::will_do(const at::Tensor& tensor) const {
  return tensor.device().is_cpu() && is_plain(tensor) && takes(tensor.scalar_type());
}

// Products and bit operations of 32-bit integers have the same low 16 bits as those of 16-bit
// integers.
at::Tensor HostCopies::host_form(const at::Tensor& tensor) const {
  const at::Tensor host = tensor.detach().cpu();
  const bool is_widened = use_ == Use::reduce && host.scalar_type() == at::kShort;
  return plain(is_widened ? host.to(at::kInt) : host);
}

// Shows elements of an unknown type as bytes. The first dimension stays, because splits count its
// rows.
at::Tensor HostCopies::shown(const at::Tensor& host) const {
  if (use_ != Use::move || is_known(host.scalar_type())) return host;
  return host.unsqueeze(-1).view(at::kByte);
}

at::Tensor HostCopies::read(const at::Tensor& tensor) const {
  return will_do(tensor) ? tensor : shown(host_form(tensor));
}

at::Tensor HostCopies::written(const at::Tensor& tensor) {
  outputs_.push_back(tensor);
  if (will_do(tensor)) return tensor.detach();
  return shown(copies_.emplace_back(host_form(tensor), tensor.detach()).first);
}

std::vector<at::Tensor> HostCopies::read(const std::vector<at::Tensor>& tensors) const {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(read(tensor));
  return copies;
}

std::vector<at::Tensor> HostCopies::written(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(written(tensor));
  return copies;
}

at::Tensor HostCopies::read_joined(const std::vector<at::Tensor>& tensors) const {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(host_form(tensor).view(-1));
  return shown(at::cat(parts));
}

at::Tensor HostCopies::written_joined(const std::vector<at::Tensor>& tensors) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  const at::Tensor room =
      at::empty({elements}, at::TensorOptions(tensors.front().scalar_type()).device(at::kCPU));
  elements = 0;
  for (const at::Tensor& tensor : tensors) {
    outputs_.push_back(tensor);
    copies_.emplace_back(room.narrow(0, elements, tensor.numel()), tensor.detach());
    elements += tensor.numel();
  }
  return shown(room);
}

DelegatedWork::Works HostCopies::after(DelegatedWork::Works work) const {
  if (copies_.empty()) return work;
  return c10::make_intrusive<DelegatedWork>(std::move(work), copies_, outputs_);
}

c10::intrusive_ptr<DelegatedWork> HostCopies::after_check(DelegatedWork::Checked checked) const {
  return c10::make_intrusive<DelegatedWork>(std::move(checked), copies_, outputs_);
}

}  // namespace infold::pytorch
