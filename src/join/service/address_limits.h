// SPDX-License-Identifier: Apache-2.0
//
// The limits for one address at a server: how many things it holds, and how often it begins new
// ones. An address is an IPv4 address or an IPv6 /64, because a host gets a whole /64. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/instant.h"
#include "io/address/socket_address.h"

namespace infold::join {

std::string limited_address(const io::SocketAddress& address);

class AddressCounts {
 public:
  AddressCounts(std::uint32_t all_max, std::uint32_t of_address_max)
      : all_max_(all_max), of_address_max_(of_address_max) {}
  enum class Taken : std::uint8_t { yes, all_full, address_full };
  Taken take(const std::string& address, std::uint32_t amount = 1);
  void give_back(const std::string& address, std::uint32_t amount = 1);
  // What counted for one name counts for another one from now on, without a limit of its own.
  void move(const std::string& from, const std::string& to);
  std::uint32_t count() const { return all_; }

 private:
  const std::uint32_t all_max_;
  const std::uint32_t of_address_max_;
  std::uint32_t all_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> of_address_;
};

// Has a token bucket for each address, which holds `burst` tokens and fills at `per_second`.
// Addresses whose bucket is full are forgotten, so that memory is bounded by the addresses that
// came within the time in which a bucket fills.
class AddressRates {
 public:
  AddressRates(std::uint32_t per_second, std::uint32_t burst)
      : per_second_(per_second), burst_(burst) {}
  bool take(const std::string& address, base::Instant now);
  // For an event that has already happened: an empty bucket goes into debt, at most by its size.
  bool take_or_owe(const std::string& address, base::Instant now, double amount = 1);
  // Whether the bucket has no token at this time.
  bool is_empty(const std::string& address, base::Instant now) const;
  std::size_t addresses() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;  // below 0: debt
    base::Instant at;
  };
  Bucket& bucket_of(const std::string& address, base::Instant now);
  void forget_full(base::Instant now);
  double tokens_at(const Bucket& bucket, base::Instant now) const;

  const double per_second_;
  const double burst_;
  base::Instant looked_at_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace infold::join
