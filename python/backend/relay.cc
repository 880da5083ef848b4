// SPDX-License-Identifier: Apache-2.0
#include "python/backend/relay.h"

#include <memory>
#include <mutex>

#include <c10/core/InferenceMode.h>

#include "python/backend/tensors.h"

namespace infold::pytorch {
namespace {

using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;

using Works = c10::intrusive_ptr<::c10d::Work>;

// Happens once, whoever comes first: the caller may write to its tensors afterwards.
struct CopyingBack {
  const Copies copies;
  std::once_flag done = {};

  void run() {
    std::call_once(done, [this] {
      const c10::InferenceMode inference;  // also for what the caller made in that mode
      for (const auto& [host, tensor] : copies) {
        if (host.data_ptr() != tensor.data_ptr()) tensor.copy_(host.view_as(tensor));
      }
    });
  }
};

class RelayedWork final : public ::c10d::Work {
 public:
  RelayedWork(Works work, Works check, Copies copies, std::vector<at::Tensor> outputs)
      : work_(std::move(work)),
        check_(std::move(check)),
        back_(std::make_shared<CopyingBack>(std::move(copies))),
        outputs_(std::move(outputs)) {}

  // Where the check has failed, the work may never end.
  bool isCompleted() override {
    if (check_ && !check_->isCompleted()) return false;
    if (check_ && !check_->isSuccess()) return true;
    if (!work_->isCompleted()) return false;
    if (work_->isSuccess()) back_->run();
    return true;
  }
  bool isSuccess() const override { return (!check_ || check_->isSuccess()) && work_->isSuccess(); }
  std::exception_ptr exception() const override {
    const std::exception_ptr failure = check_ ? check_->exception() : nullptr;
    return failure ? failure : work_->exception();
  }
  int sourceRank() const override { return work_->sourceRank(); }
  void abort() override { work_->abort(); }
  void synchronize() override { wait(kNoTimeout); }
  std::vector<at::Tensor> result() override { return outputs_; }

  bool wait(std::chrono::milliseconds timeout) override {
    if (check_) check_->wait(timeout);
    const bool done = work_->wait(timeout);
    back_->run();
    return done;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    std::vector<c10::Device> devices;
    if (!outputs_.empty() && !outputs_.front().device().is_cpu()) {
      devices.push_back(outputs_.front().device());
    }
    auto future = c10::make_intrusive<c10::ivalue::Future>(
        c10::ListType::create(c10::TensorType::get()), std::move(devices));
    const auto finish = [future, back = back_, outputs = outputs_](c10::ivalue::Future& done) {
      if (pass_error(done, *future)) return;
      try {
        back->run();
      } catch (...) {
        future->setError(std::current_exception());
        return;
      }
      future->markCompleted(c10::IValue(outputs));
    };
    if (!check_) {
      work_->getFuture()->addCallback(finish);
      return future;
    }
    check_->getFuture()->addCallback([future, finish, work = work_](c10::ivalue::Future& done) {
      if (!pass_error(done, *future)) work->getFuture()->addCallback(finish);
    });
    return future;
  }

 private:
  static bool pass_error(c10::ivalue::Future& from, c10::ivalue::Future& to) {
    if (!from.hasError()) return false;
    to.setError(from.exception_ptr());
    return true;
  }

  Works work_;
  Works check_;  // may be null
  const std::shared_ptr<CopyingBack> back_;
  const std::vector<at::Tensor> outputs_;
};

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

// Sparse ones are the delegate's own business.
bool HostCopies::will_do(const at::Tensor& tensor) const {
  if (tensor.layout() != at::kStrided) return tensor.device().is_cpu();
  const bool has_type =
      use_ == Use::reduce ? tensor.scalar_type() != at::kShort : is_known(tensor.scalar_type());
  return tensor.device().is_cpu() && is_plain(tensor) && has_type;
}

// Products and bit operations of 16 bits are the low ones of those of 32.
at::Tensor HostCopies::host_form(const at::Tensor& tensor) const {
  const at::Tensor host = tensor.detach().cpu();
  if (host.layout() != at::kStrided) return host;
  const bool is_widened = use_ == Use::reduce && host.scalar_type() == at::kShort;
  return plain(is_widened ? host.to(at::kInt) : host);
}

// Keeps the first dimension, which splits count.
at::Tensor HostCopies::shown(const at::Tensor& host) const {
  if (use_ == Use::reduce || is_known(host.scalar_type())) return host;
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

Works HostCopies::after(Works work, Works check) const {
  if (copies_.empty() && !check) return work;
  return c10::make_intrusive<RelayedWork>(std::move(work), std::move(check), copies_, outputs_);
}

}  // namespace infold::pytorch
