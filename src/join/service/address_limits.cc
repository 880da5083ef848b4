// SPDX-License-Identifier: Apache-2.0
#include "join/service/address_limits.h"

#include <algorithm>
#include <cstring>

namespace infold::join {

std::string limited_address(const io::SocketAddress& address) {
  if (!address.is_ipv6()) return address.host_text();
  sockaddr_in6 prefix;
  std::memcpy(&prefix, address.data(), sizeof(prefix));
  std::memset(&prefix.sin6_addr.s6_addr[8], 0, 8);
  return io::SocketAddress(reinterpret_cast<const sockaddr*>(&prefix), sizeof(prefix)).host_text() +
         "/64";
}

AddressCounts::Taken AddressCounts::take(const std::string& address, std::uint32_t amount) {
  if (amount > all_max_ - all_) return Taken::all_full;
  const auto found = of_address_.find(address);
  const std::uint32_t own = found == of_address_.end() ? 0 : found->second;
  if (amount > of_address_max_ - own) return Taken::address_full;
  of_address_[address] = own + amount;
  all_ += amount;
  return Taken::yes;
}

void AddressCounts::give_back(const std::string& address, std::uint32_t amount) {
  const auto found = of_address_.find(address);
  if (found == of_address_.end()) return;
  const std::uint32_t given = std::min(amount, found->second);
  found->second -= given;
  all_ -= given;
  if (found->second == 0) of_address_.erase(found);
}

void AddressCounts::move(const std::string& from, const std::string& to) {
  const std::uint32_t before = all_;
  give_back(from);
  if (all_ == before) return;
  ++all_;
  ++of_address_[to];
}

AddressRates::Bucket& AddressRates::bucket_of(const std::string& address, base::Instant now) {
  forget_full(now);
  const auto [place, is_new] = buckets_.try_emplace(address, Bucket{burst_, now});
  Bucket& own = place->second;
  own = {tokens_at(own, now), now};
  return own;
}

bool AddressRates::take(const std::string& address, base::Instant now) {
  Bucket& own = bucket_of(address, now);
  if (own.tokens < 1) return false;
  own.tokens -= 1;
  return true;
}

bool AddressRates::take_or_owe(const std::string& address, base::Instant now, double amount) {
  Bucket& own = bucket_of(address, now);
  own.tokens = std::max(own.tokens - amount, -burst_);
  return own.tokens >= 0;
}

bool AddressRates::is_empty(const std::string& address, base::Instant now) const {
  const auto found = buckets_.find(address);
  return found != buckets_.end() && tokens_at(found->second, now) < 1;
}

// Looks once within the time in which a bucket fills, so that all events of that time share the
// cost.
void AddressRates::forget_full(base::Instant now) {
  const auto fill = base::nanoseconds(static_cast<std::int64_t>(burst_ / per_second_ * 1e9));
  if (now - looked_at_ < fill) return;
  looked_at_ = now;
  std::erase_if(buckets_, [&](const auto& each) { return tokens_at(each.second, now) >= burst_; });
}

double AddressRates::tokens_at(const Bucket& bucket, base::Instant now) const {
  const double seconds = static_cast<double>((now - bucket.at).ns) * 1e-9;
  return std::min(burst_, bucket.tokens + seconds * per_second_);
}

}  // namespace infold::join
