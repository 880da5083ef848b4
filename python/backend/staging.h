// SPDX-License-Identifier: Apache-2.0
//
// Tensors on a device, on their way to the network and back: through pinned memory, in pieces, on
// a stream of their own that starts after the work which the caller's stream holds already.
//
// Device-generic: nothing here names CUDA, so that one source serves every build of PyTorch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

namespace infold::pytorch {

class Staging : public std::enable_shared_from_this<Staging> {
 public:
  // Throws while the caller's stream is captured into a graph, which would replay copies without
  // the network's part.
  explicit Staging(c10::Device device);

  // A part of a tensor, and the memory that the network reads and writes instead.
  struct Piece {
    at::Tensor on_device;
    at::Tensor on_host;
    std::shared_ptr<c10::Event> arrived;
  };

  // From here on, follows what the caller's stream holds by now; call it on the caller's thread.
  void follow_current() const;
  // The tensor's memory is not used again before what this stream does with it is done, even if
  // nobody holds the tensor any more.
  void keep(const at::Tensor& tensor) const;

  // Begins to bring a contiguous tensor to the host, as far as the caller's stream has made it. Of
  // each piece, wait_for() tells when it is there. The same number and sizes at all ranks: a
  // function of the tensor's size alone.
  std::vector<Piece> bring(const at::Tensor& tensor, std::int64_t bytes_max);
  // Memory of the host for a result.
  at::Tensor room_for(const at::Tensor& on_device) const;
  void wait_for(const Piece& piece) const;
  // Begins to bring a result back.
  void give_back(const at::Tensor& on_host, const at::Tensor& on_device) const;
  // Does something else on the device, in the order of the above.
  void then(const std::function<void()>& action) const;
  // When all of it will have been done.
  std::shared_ptr<c10::Event> end() const;
  // Without blocking the host.
  void make_current_wait(const c10::Event& event) const;
  // On the host.
  void wait_on_host(const c10::Event& event) const;
  bool has_happened(const c10::Event& event) const;

  c10::Device device() const { return device_; }
  c10::Stream stream() const { return stream_; }

 private:
  c10::Device device_;
  c10::Stream stream_;
};

}  // namespace infold::pytorch
