// SPDX-License-Identifier: Apache-2.0
//
// Helps tests of shared memory with a small queue and with datagrams that contain a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "io/endpoint.h"
#include "io/host/clock.h"
#include "io/memory/shared_memory_queue.h"

namespace infold::io {

inline constexpr QueueShape kShape = {.places = 16, .datagram_bytes_max = 256, .channels = 2};

inline base::Instant soon() { return monotonic_now() + base::seconds(20); }

inline std::vector<std::byte> datagram_of(std::uint32_t number, std::size_t bytes = 256) {
  std::vector<std::byte> datagram(bytes, static_cast<std::byte>(number));
  std::memcpy(datagram.data(), &number, std::min(bytes, sizeof(number)));
  return datagram;
}

inline std::uint32_t number_in(const Received& received) {
  std::uint32_t number = 0;
  std::memcpy(&number, received.datagram.data(), sizeof(number));
  return number;
}

}  // namespace infold::io
