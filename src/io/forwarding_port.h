// SPDX-License-Identifier: Apache-2.0
//
// A port around another one, which it hands everything on to: what does something of its own on the
// way derives from this.
#pragma once

#include <memory>
#include <utility>

#include "io/datagram_port.h"

namespace infold::io {

class ForwardingPort : public DatagramPort {
 public:
  explicit ForwardingPort(std::unique_ptr<DatagramPort> port) : port_(std::move(port)) {}

  void send(Peer to, std::span<const std::byte> datagram) override { port_->send(to, datagram); }
  void flush() override { port_->flush(); }
  bool is_blocked() const override { return port_->is_blocked(); }
  std::span<const Received> receive() override { return port_->receive(); }
  std::optional<std::size_t> served() const override { return port_->served(); }
  void wait(base::Instant deadline) override { port_->wait(deadline); }
  void wake() override { port_->wake(); }
  std::optional<NarrowPeer> narrow_peer() const override { return port_->narrow_peer(); }
  PortCounters counters() const override { return port_->counters(); }

 private:
  std::unique_ptr<DatagramPort> port_;
};

}  // namespace infold::io
