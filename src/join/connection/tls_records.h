// SPDX-License-Identifier: Apache-2.0
//
// Takes whole records of TLS (RFC 8446, section 5.1) out of a stream of bytes, without a look into
// them. OpenSSL gets whole records only, because it reserves 16 KiB for a record that has begun,
// however short the record is. Memory here grows with the bytes that have come, up to a limit.
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "join/connection/tls_fault.h"

namespace infold::join {

class TlsRecords {
 public:
  static constexpr std::size_t kHeadBytes = 5;
  static constexpr char kAlert = 21;
  static constexpr char kHandshake = 22;

  // `bytes_max` is the most that a record has after its head.
  explicit TlsRecords(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  using Record = tl::expected<std::optional<std::string_view>, TlsFault>;
  // Takes bytes off the front of `bytes`, at most up to the end of a record. Returns the record
  // with its head, which stays valid until the next call, or nothing if it still lacks bytes. After
  // a fault the stream cannot be read further.
  Record next(std::string_view& bytes);

  // The bytes of a record that has begun.
  std::size_t waiting_bytes() const { return is_whole_ ? 0 : record_.size(); }

 private:
  const std::size_t bytes_max_;
  std::string record_;  // as much of it as has come
  bool is_whole_ = false;
};

// Returns a record with a fatal alert, as an end sends it that has no keys yet.
std::string tls_alert(int alert);

}  // namespace infold::join
