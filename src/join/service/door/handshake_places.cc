// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/handshake_places.h"

#include <algorithm>

namespace infold::join {

bool HandshakePlaces::take(const std::string& address, int connection) {
  if (places_.take(address) == AddressCounts::Taken::yes) return true;
  waiting_[address].push_back(connection);
  ++waiting_count_;
  return false;
}

// Only an address that has its share of all places finds none here, so few are asked in vain.
std::optional<int> HandshakePlaces::give_back(const std::string& address) {
  places_.give_back(address);
  auto next = waiting_.upper_bound(last_);
  for (std::size_t i = waiting_.size(); i > 0; --i, ++next) {
    if (next == waiting_.end()) next = waiting_.begin();
    if (places_.take(next->first) != AddressCounts::Taken::yes) continue;
    last_ = next->first;
    const int connection = next->second.front();
    next->second.pop_front();
    if (next->second.empty()) waiting_.erase(next);
    --waiting_count_;
    return connection;
  }
  return std::nullopt;
}

void HandshakePlaces::forget(const std::string& address, int connection) {
  const auto own = waiting_.find(address);
  if (own == waiting_.end()) return;
  const auto found = std::find(own->second.begin(), own->second.end(), connection);
  if (found == own->second.end()) return;
  own->second.erase(found);
  --waiting_count_;
  if (own->second.empty()) waiting_.erase(own);
}

}  // namespace infold::join
