// SPDX-License-Identifier: Apache-2.0
#include "python/backend/staging.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pybind11/pybind11.h>

namespace infold::pytorch {
namespace {

c10::Stream side_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// Older versions of torch answer this only in Python, and only for the current stream.
template <typename Stream>
bool is_captured(const Stream& stream) {
  if constexpr (requires { stream.is_capturing(); }) {
    return stream.is_capturing();
  } else {
    if (stream.device_type() != c10::DeviceType::CUDA) return false;
    const c10::DeviceGuard on_device(stream.device());
    const pybind11::gil_scoped_acquire interpreter;
    const auto torch_cuda = pybind11::module_::import("torch.cuda");
    return torch_cuda.attr("is_current_stream_capturing")().template cast<bool>();
  }
}

}  // namespace

Staging::Staging(c10::Device device) : device_(device), stream_(side_stream(device)) {
  TORCH_CHECK(!is_captured(current_stream(device)), "infold: a collective on ", device,
              " cannot be captured into a graph: the host takes part in each call; "
              "leave collectives out of the graph");
}

void Staging::follow_current() const {
  c10::Event now(device_.type());
  now.record(current_stream(device_));
  now.block(stream_);
}

void Staging::keep(const at::Tensor& tensor) const {
  if (tensor.device() != device_) return;
  c10::impl::VirtualGuardImpl(device_.type())
      .recordDataPtrOnStream(tensor.storage().data_ptr(), stream_);
}

std::vector<Staging::Piece> Staging::bring(const at::Tensor& tensor, std::int64_t bytes_max) {
  std::vector<Piece> pieces;
  // Other threads write the tensor later, outside the caller's autograd graph.
  const at::Tensor flat = tensor.detach().view({-1});
  const std::int64_t elements = std::max<std::int64_t>(1, bytes_max / flat.element_size());
  follow_current();
  keep(tensor);
  const c10::StreamGuard on_stream(stream_);
  for (std::int64_t first = 0; first == 0 || first < flat.numel(); first += elements) {
    const at::Tensor part = flat.narrow(0, first, std::min(elements, flat.numel() - first));
    const at::Tensor host = room_for(part);
    host.copy_(part, /*non_blocking=*/true);
    pieces.push_back({part, host, end()});
  }
  return pieces;
}

at::Tensor Staging::room_for(const at::Tensor& on_device) const {
  return at::empty(on_device.sizes(), on_device.options().device(at::kCPU).pinned_memory(true));
}

void Staging::wait_for(const Piece& piece) const { wait_on_host(*piece.arrived); }

void Staging::give_back(const at::Tensor& on_host, const at::Tensor& on_device) const {
  then([&] {
    keep(on_device);
    on_device.copy_(on_host, /*non_blocking=*/true);
  });
}

void Staging::then(const std::function<void()>& action) const {
  const c10::StreamGuard on_stream(stream_);
  const at::NoGradGuard no_grad;
  action();
}

std::shared_ptr<c10::Event> Staging::end() const {
  auto event = std::make_shared<c10::Event>(device_.type());
  event->record(stream_);
  return event;
}

void Staging::make_current_wait(const c10::Event& event) const {
  event.block(current_stream(device_));
}

// Without the guard, a thread without a device would create a context on the first device.
void Staging::wait_on_host(const c10::Event& event) const {
  const c10::DeviceGuard on_device(device_);
  event.synchronize();
}

bool Staging::has_happened(const c10::Event& event) const {
  const c10::DeviceGuard on_device(device_);
  return event.query();
}

}  // namespace infold::pytorch
