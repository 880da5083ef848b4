// SPDX-License-Identifier: Apache-2.0
//
// Copies tensors of a device to the host for the network, and copies results back. Copies go
// through pinned memory, in pieces, on a separate stream. That stream waits for the work that the
// caller's stream has at this moment.
//
// The code does not name CUDA, so that one source serves every build of PyTorch.
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
  // Throws while the caller's stream is being captured into a graph, because the graph would repeat
  // the copies without the call on the network.
  explicit Staging(c10::Device device);

  // A part of a tensor, and the memory that the network reads and writes instead.
  struct Piece {
    at::Tensor on_device;
    at::Tensor on_host;
    std::shared_ptr<c10::Event> arrived;
  };

  // Makes the stream wait for the work that the caller's stream has now. Call it on the caller's
  // thread.
  void follow_current() const;
  // Keeps the allocator from reusing the tensor's memory before this stream is done with it, even
  // if the tensor is destroyed.
  void keep(const at::Tensor& tensor) const;

  // Begins to copy a contiguous tensor to the host. wait_for() waits for one piece. The number and
  // sizes of the pieces depend only on the tensor's size, so they are the same at all ranks.
  std::vector<Piece> bring(const at::Tensor& tensor, std::int64_t bytes_max);
  // Pinned memory of the host for a result.
  at::Tensor room_for(const at::Tensor& on_device) const;
  void wait_for(const Piece& piece) const;
  // Begins to copy a result back.
  void give_back(const at::Tensor& on_host, const at::Tensor& on_device) const;
  // Runs an action on this stream, after the copies so far.
  void then(const std::function<void()>& action) const;
  // An event after all of the above.
  std::shared_ptr<c10::Event> end() const;
  // The caller's stream waits for the event; the host does not.
  void make_current_wait(const c10::Event& event) const;
  // The host waits for the event.
  void wait_on_host(const c10::Event& event) const;
  bool has_happened(const c10::Event& event) const;

  c10::Device device() const { return device_; }
  c10::Stream stream() const { return stream_; }

 private:
  c10::Device device_;
  c10::Stream stream_;
};

}  // namespace infold::pytorch
