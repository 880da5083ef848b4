// SPDX-License-Identifier: Apache-2.0
//
// An endpoint that loses, duplicates and reorders sent datagrams with given probabilities. A seed
// decides each case, and counters count them. Received datagrams are untouched by default. So a
// link with lossy endpoints at both ends has the faults once in each direction.
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
  double loss = 0;  // each of the three in [0, 1]
  double duplication = 0;
  double reordering = 0;  // of datagrams that 1 to 8 later ones overtake
  std::uint64_t seed = 0;
  double loss_of_received = 0;  // for links whose other end is not lossy
};

class LossyEndpoint final : public ForwardingEndpoint {
 public:
  LossyEndpoint(std::unique_ptr<Endpoint> endpoint, const LossyOptions& options);

  void send(Peer to, std::span<const std::byte> datagram) override;
  std::span<const Received> receive() override;
  EndpointCounters counters() const override;

 private:
  // A datagram that is held until so many others were sent. If no others follow, it is lost.
  struct Held {
    std::uint32_t sends_left = 0;  // 0: the place is free
    Peer to{};
    std::vector<std::byte> datagram;
  };

  bool hold(Peer to, std::span<const std::byte> datagram);
  void release_due();

  LossyOptions options_;
  base::Prng prng_;
  std::array<Held, 8> held_;
  EndpointCounters counters_;

  // Of the receiving thread. Other threads read the counters.
  base::Prng receive_prng_;
  std::vector<Received> kept_;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> lost_of_received_{0};
};

}  // namespace infold::io
