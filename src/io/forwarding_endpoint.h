// SPDX-License-Identifier: Apache-2.0
//
// An endpoint that forwards every call to another one, except send_apart(), which it does not
// offer. A class that changes some of the calls derives from it.
#pragma once

#include <memory>
#include <utility>

#include "io/endpoint.h"

namespace infold::io {

class ForwardingEndpoint : public Endpoint {
 public:
  explicit ForwardingEndpoint(std::unique_ptr<Endpoint> endpoint)
      : endpoint_(std::move(endpoint)) {}

  std::span<std::byte> place() override { return endpoint_->place(); }
  void send(Neighbour to, std::span<const std::byte> datagram) override {
    endpoint_->send(to, datagram);
  }
  void flush() override { endpoint_->flush(); }
  bool is_blocked() const override { return endpoint_->is_blocked(); }
  std::span<const Received> receive() override { return endpoint_->receive(); }
  std::optional<std::size_t> served() const override { return endpoint_->served(); }
  void wait(base::Instant deadline) override { endpoint_->wait(deadline); }
  void wake() override { endpoint_->wake(); }
  std::optional<NarrowNeighbour> narrow_neighbour() const override {
    return endpoint_->narrow_neighbour();
  }
  EndpointCounters counters() const override { return endpoint_->counters(); }

 private:
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace infold::io
