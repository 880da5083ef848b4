// SPDX-License-Identifier: Apache-2.0
//
// Writes and checks the headers of Ethernet, IPv4, IPv6 and UDP.
#include "planes/xdp/program/frame.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>

#include "base/check.h"

namespace infold::xdp {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kUdp = 8;
constexpr std::uint8_t kProtocolUdp = 17;

std::size_t ip_bytes(bool v6) { return v6 ? 40 : 20; }

void put16(std::byte* at, std::size_t value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}
std::size_t get16(const std::byte* at) {
  return std::to_integer<std::size_t>(at[0]) << 8 | std::to_integer<std::size_t>(at[1]);
}

// The sum of RFC 1071 before its complement is taken. Over correct data and its checksum, it is
// 0xffff.
std::size_t sum(std::span<const std::byte> bytes, std::size_t start = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    start += std::to_integer<std::size_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (start >> 16 != 0) start = (start & 0xffff) + (start >> 16);
  return start;
}

std::size_t udp_sum(std::span<const std::byte> frame, bool v6, std::size_t udp_bytes) {
  const std::size_t ip = kEthernet + (v6 ? 8 : 12);
  const std::size_t pseudo = sum(frame.subspan(ip, v6 ? 32 : 8), kProtocolUdp + udp_bytes);
  return sum(frame.subspan(kEthernet + ip_bytes(v6), udp_bytes), pseudo);
}

void put_address(const io::SocketAddress& address, std::byte* at) {
  if (address.is_ipv6()) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address.data(), sizeof(v6));
    std::memcpy(at, &v6.sin6_addr, 16);
  } else {
    sockaddr_in v4;
    std::memcpy(&v4, address.data(), sizeof(v4));
    std::memcpy(at, &v4.sin_addr, 4);
  }
}

}  // namespace

std::vector<std::byte> make_frame(const FrameAddresses& addresses,
                                  std::span<const std::byte> datagram) {
  const bool v6 = addresses.target.is_ipv6();
  CHECK(addresses.source.is_ipv6() == v6);
  const std::size_t udp_bytes = kUdp + datagram.size();
  std::vector<std::byte> frame(kEthernet + ip_bytes(v6) + udp_bytes);
  frame[5] = std::byte{1};   // to 00:00:00:00:00:01
  frame[11] = std::byte{2};  // from 00:00:00:00:00:02
  put16(&frame[12], v6 ? 0x86dd : 0x0800);
  std::byte* const ip = &frame[kEthernet];
  if (v6) {
    ip[0] = std::byte{0x60};
    put16(ip + 4, udp_bytes);
    ip[6] = std::byte{kProtocolUdp};
    ip[7] = std::byte{64};
    put_address(addresses.source, ip + 8);
    put_address(addresses.target, ip + 24);
  } else {
    ip[0] = std::byte{0x45};
    put16(ip + 2, 20 + udp_bytes);
    ip[8] = std::byte{64};
    ip[9] = std::byte{kProtocolUdp};
    put_address(addresses.source, ip + 12);
    put_address(addresses.target, ip + 16);
    put16(ip + 10, ~sum({ip, 20}) & 0xffff);
  }
  std::byte* const udp = ip + ip_bytes(v6);
  put16(udp, addresses.source.port());
  put16(udp + 2, addresses.target.port());
  put16(udp + 4, udp_bytes);
  std::copy(datagram.begin(), datagram.end(), udp + kUdp);
  const std::size_t checksum = ~udp_sum(frame, v6, udp_bytes) & 0xffff;
  put16(udp + 6, checksum == 0 ? 0xffff : checksum);
  return frame;
}

std::optional<std::vector<std::byte>> read_frame(std::span<const std::byte> frame) {
  if (frame.size() < kEthernet + 20 + kUdp) return std::nullopt;
  const bool v6 = get16(&frame[12]) == 0x86dd;
  if (!v6 && get16(&frame[12]) != 0x0800) return std::nullopt;
  const std::size_t start = kEthernet + ip_bytes(v6);
  if (frame.size() < start + kUdp) return std::nullopt;
  const std::size_t udp_bytes = get16(&frame[start + 4]);
  if (udp_bytes < kUdp || start + udp_bytes > frame.size()) return std::nullopt;
  const std::size_t length = get16(&frame[kEthernet + (v6 ? 4 : 2)]);
  if (length != udp_bytes + (v6 ? 0 : 20)) return std::nullopt;
  if (!v6 && sum(frame.subspan(kEthernet, 20)) != 0xffff) return std::nullopt;
  if (get16(&frame[start + 6]) == 0 || udp_sum(frame, v6, udp_bytes) != 0xffff) {
    return std::nullopt;
  }
  const auto datagram = frame.subspan(start + kUdp, udp_bytes - kUdp);
  return std::vector<std::byte>(datagram.begin(), datagram.end());
}

}  // namespace infold::xdp
