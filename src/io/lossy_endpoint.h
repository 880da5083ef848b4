// SPDX-License-Identifier: Apache-2.0
//
// An endpoint that loses, duplicates and reorders sent datagrams with given probabilities. A seed
// makes the faults repeatable, and counters count them. By default, received datagrams are left
// alone, so a link with a lossy endpoint at both ends suffers each fault once in each direction.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "io/forwarding_endpoint.h"

namespace infold::io {

struct LossyOptions {
  double loss = 0;  // this and the next two are probabilities from 0 to 1
  double duplication = 0;
  double reordering = 0;  // 1 to 8 later datagrams overtake such a datagram
  std::uint64_t seed = 0;
  double loss_of_received = 0;  // for links whose other end is not lossy
};

class LossyEndpoint final : public ForwardingEndpoint {
 public:
  LossyEndpoint(std::unique_ptr<Endpoint> endpoint, const LossyOptions& options);

  void send(Neighbour to, std::span<const std::byte> datagram) override;
  std::span<const Received> receive() override;
  EndpointCounters counters() const override;

 private:
  // A datagram that is held back until `sends_left` others have been sent. It is lost if too few
  // follow.
  struct Held {
    std::uint32_t sends_left = 0;  // 0: the place is free
    Neighbour to{};
    std::vector<std::byte> datagram;
  };

  bool hold(Neighbour to, std::span<const std::byte> datagram);
  void release_due();

  LossyOptions options_;
  base::Prng prng_;
  std::array<Held, 8> held_;
  EndpointCounters counters_;

  // Only the receiving thread changes these. Other threads read the counters.
  base::Prng receive_prng_;
  std::vector<Received> kept_;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> lost_of_received_{0};
};

}  // namespace infold::io
