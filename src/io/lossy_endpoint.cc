// SPDX-License-Identifier: Apache-2.0
//
// send() drops the datagram, holds it back, or sends it once or twice. Then it sends the datagrams
// it held back that are now due.
#include "io/lossy_endpoint.h"

#include <algorithm>
#include <utility>

namespace infold::io {

LossyEndpoint::LossyEndpoint(std::unique_ptr<Endpoint> endpoint, const LossyOptions& options)
    : ForwardingEndpoint(std::move(endpoint)),
      options_(options),
      prng_(options.seed),
      receive_prng_(base::mix64(options.seed + 1)) {}

void LossyEndpoint::send(Neighbour to, std::span<const std::byte> datagram) {
  ++counters_.sent;
  if (prng_.chance(options_.loss)) {
    ++counters_.lost;
  } else if (prng_.chance(options_.reordering) && hold(to, datagram)) {
    ++counters_.reordered;
  } else {
    ForwardingEndpoint::send(to, datagram);
    if (prng_.chance(options_.duplication)) {
      ++counters_.duplicated;
      ForwardingEndpoint::send(to, datagram);
    }
  }
  release_due();
}

bool LossyEndpoint::hold(Neighbour to, std::span<const std::byte> datagram) {
  const auto place = std::find_if(held_.begin(), held_.end(),
                                  [](const Held& held) { return held.sends_left == 0; });
  if (place == held_.end()) return false;
  // One more, because release_due() also counts this send.
  place->sends_left = 2 + static_cast<std::uint32_t>(prng_.below(held_.size()));
  place->to = to;
  place->datagram.assign(datagram.begin(), datagram.end());
  return true;
}

void LossyEndpoint::release_due() {
  for (Held& held : held_) {
    if (held.sends_left == 0) continue;
    if (--held.sends_left == 0) ForwardingEndpoint::send(held.to, held.datagram);
  }
}

std::span<const Received> LossyEndpoint::receive() {
  const std::span<const Received> batch = ForwardingEndpoint::receive();
  if (options_.loss_of_received <= 0) return batch;
  kept_.clear();
  for (const Received& each : batch) {
    if (!receive_prng_.chance(options_.loss_of_received)) kept_.push_back(each);
  }
  arrived_ += batch.size();
  lost_of_received_ += batch.size() - kept_.size();
  return kept_;
}

EndpointCounters LossyEndpoint::counters() const {
  EndpointCounters counters = counters_;
  counters.arrived = arrived_;
  counters.lost += lost_of_received_;
  const EndpointCounters forwarded = ForwardingEndpoint::counters();
  counters.overflowed = forwarded.overflowed;
  counters.messages_sent = forwarded.messages_sent;
  counters.messages_received = forwarded.messages_received;
  return counters;
}

}  // namespace infold::io
