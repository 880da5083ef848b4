// SPDX-License-Identifier: Apache-2.0
//
// An endpoint that mistreats what is sent through it: loses, duplicates and reorders datagrams with
// the given probabilities, drawn from a seed, and counts what it did. Receiving is left alone
// unless it is asked for, so that a link with such an endpoint at both ends suffers once in each
// direction.
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
  double loss = 0;  // all three in [0, 1]
  double duplication = 0;
  double reordering = 0;  // of datagrams that 1 to 8 later ones overtake
  std::uint64_t seed = 0;
  double loss_of_received = 0;  // where the other end has no such endpoint
};

class LossyEndpoint final : public ForwardingEndpoint {
 public:
  LossyEndpoint(std::unique_ptr<Endpoint> endpoint, const LossyOptions& options);

  void send(Peer to, std::span<const std::byte> datagram) override;
  std::span<const Received> receive() override;
  EndpointCounters counters() const override;

 private:
  // A datagram kept back until so many others have gone. With none, it stays: that is a loss.
  struct Held {
    std::uint32_t sends_left = 0;  // 0: an empty place
    Peer to{};
    std::vector<std::byte> datagram;
  };

  bool hold(Peer to, std::span<const std::byte> datagram);
  void release_due();

  LossyOptions options_;
  base::Prng prng_;
  std::array<Held, 8> held_;
  EndpointCounters counters_;

  // Of the thread that receives; counters are read by others.
  base::Prng receive_prng_;
  std::vector<Received> kept_;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> lost_of_received_{0};
};

}  // namespace infold::io
