// SPDX-License-Identifier: Apache-2.0
//
// Multiplies packets by the size of their headers, and adds the payload.
#include "study/predict/link_bytes.h"

#include "base/check.h"
#include "core/packet/packet.h"

namespace infold::predict {
namespace {

constexpr std::uint32_t kUdpHeaderBytes = 8;
// 20 bytes, and the option with two timestamps, which Linux sends by default.
constexpr std::uint32_t kTcpHeaderBytes = 32;

}  // namespace

std::uint32_t udp_headers_bytes(const Framing& framing) {
  return framing.ip_header_bytes + kUdpHeaderBytes;
}

std::uint64_t tensor_elements(core::DataType type, std::uint64_t tensor_bytes) {
  const std::uint32_t width = element_bytes(type);
  return (tensor_bytes + width - 1) / width;
}

Passage passage_of(core::ElementLayout layout, std::uint64_t elements, const Framing& framing) {
  CHECK_THAT(elements, >, 0U);
  const std::uint32_t headers = udp_headers_bytes(framing);
  CHECK_THAT(framing.mtu, >, headers);
  const std::uint32_t chunk =
      core::chunk_elements(layout, {.datagram_bytes_max = framing.mtu - headers});
  CHECK_THAT(chunk, >, 0U);

  const auto bytes_of = [&](std::uint32_t count) {
    return core::datagram_bytes(core::Kind::add, layout, count, false) + headers +
           framing.frame_bytes;
  };
  const std::uint64_t full = elements / chunk;
  const auto rest = static_cast<std::uint32_t>(elements % chunk);
  Passage passage{full, full * bytes_of(chunk)};
  if (rest > 0) {
    passage.chunks += 1;
    passage.link_bytes += bytes_of(rest);
  }
  return passage;
}

std::uint64_t tcp_link_bytes(std::uint64_t message_bytes, const Framing& framing) {
  const std::uint32_t headers = framing.ip_header_bytes + kTcpHeaderBytes;
  CHECK_THAT(framing.mtu, >, headers);
  const std::uint32_t segment = framing.mtu - headers;
  const std::uint64_t segments = (message_bytes + segment - 1) / segment;
  return message_bytes + segments * (headers + framing.frame_bytes);
}

}  // namespace infold::predict
