// SPDX-License-Identifier: Apache-2.0
#include "control/service/peer_limits.h"

#include <algorithm>
#include <cstring>

namespace infold::control {

std::string peer_of(const io::SocketAddress& address) {
  if (!address.is_ipv6()) return address.host_text();
  sockaddr_in6 prefix;
  std::memcpy(&prefix, address.data(), sizeof(prefix));
  std::memset(&prefix.sin6_addr.s6_addr[8], 0, 8);
  return io::SocketAddress(reinterpret_cast<const sockaddr*>(&prefix), sizeof(prefix)).host_text() +
         "/64";
}

PeerCounts::Taken PeerCounts::take(const std::string& peer) {
  if (all_ >= all_max_) return Taken::all_full;
  std::uint32_t& own = of_peer_[peer];
  if (own >= of_peer_max_) return Taken::peer_full;
  ++own;
  ++all_;
  return Taken::yes;
}

void PeerCounts::give_back(const std::string& peer) {
  const auto found = of_peer_.find(peer);
  if (found == of_peer_.end()) return;
  if (--found->second == 0) of_peer_.erase(found);
  --all_;
}

PeerRates::Bucket& PeerRates::bucket_of(const std::string& peer, base::Instant now) {
  forget_full(now);
  const auto [place, is_new] = buckets_.try_emplace(peer, Bucket{burst_, now});
  Bucket& own = place->second;
  own = {tokens_at(own, now), now};
  return own;
}

bool PeerRates::take(const std::string& peer, base::Instant now) {
  Bucket& own = bucket_of(peer, now);
  if (own.tokens < 1) return false;
  own.tokens -= 1;
  return true;
}

bool PeerRates::take_or_owe(const std::string& peer, base::Instant now, double amount) {
  Bucket& own = bucket_of(peer, now);
  own.tokens = std::max(own.tokens - amount, -burst_);
  return own.tokens >= 0;
}

bool PeerRates::is_empty(const std::string& peer, base::Instant now) const {
  const auto found = buckets_.find(peer);
  return found != buckets_.end() && tokens_at(found->second, now) < 1;
}

// Once in the time in which a bucket fills, so that the cost is shared by all that came meanwhile.
void PeerRates::forget_full(base::Instant now) {
  const auto fill = base::nanoseconds(static_cast<std::int64_t>(burst_ / per_second_ * 1e9));
  if (now - looked_at_ < fill) return;
  looked_at_ = now;
  std::erase_if(buckets_, [&](const auto& each) { return tokens_at(each.second, now) >= burst_; });
}

double PeerRates::tokens_at(const Bucket& bucket, base::Instant now) const {
  const double seconds = static_cast<double>((now - bucket.at).ns) * 1e-9;
  return std::min(burst_, bucket.tokens + seconds * per_second_);
}

}  // namespace infold::control
