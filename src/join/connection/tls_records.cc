// SPDX-License-Identifier: Apache-2.0
#include "join/connection/tls_records.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace infold::join {
namespace {

constexpr char kFirstType = 20;
constexpr char kLastType = 23;
constexpr char kMajorVersion = 3;

// Whether a head may begin with these bytes.
bool may_begin(std::string_view head) {
  if (head.size() > 1 && head[1] != kMajorVersion) return false;
  return head[0] >= kFirstType && head[0] <= kLastType;
}

std::size_t announced_bytes(std::string_view head) {
  return static_cast<std::size_t>(static_cast<std::uint8_t>(head[3])) << 8 |
         static_cast<std::uint8_t>(head[4]);
}

void take_up_to(std::string& to, std::string_view& from, std::size_t whole_bytes) {
  const std::size_t bytes = std::min(whole_bytes - to.size(), from.size());
  to.append(from.substr(0, bytes));
  from.remove_prefix(bytes);
}

}  // namespace

TlsRecords::Record TlsRecords::next(std::string_view& bytes) {
  if (std::exchange(is_whole_, false)) std::string().swap(record_);
  if (record_.size() < kHeadBytes) take_up_to(record_, bytes, kHeadBytes);
  if (record_.empty()) return std::nullopt;
  if (!may_begin(record_)) return tl::unexpected(TlsFault::not_tls);
  if (record_.size() < kHeadBytes) return std::nullopt;
  const std::size_t length = announced_bytes(record_);
  if (length > bytes_max_) return tl::unexpected(TlsFault::long_record);
  take_up_to(record_, bytes, kHeadBytes + length);
  if (record_.size() < kHeadBytes + length) return std::nullopt;
  is_whole_ = true;
  return std::string_view(record_);
}

std::string tls_alert(int alert) {
  constexpr char kFatal = 2;
  return {TlsRecords::kAlert, kMajorVersion, 3, 0, 2, kFatal, static_cast<char>(alert)};
}

}  // namespace infold::join
