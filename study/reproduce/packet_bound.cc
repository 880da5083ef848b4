// SPDX-License-Identifier: Apache-2.0
//
// Adds up headers.
#include "study/reproduce/packet_bound.h"

#include "core/packet/packet.h"
#include "study/predict/link_bytes.h"

namespace infold::reproduce {
namespace {

constexpr std::uint32_t kEthernet = 14 + 4 + 20;  // header, checksum, preamble and gap
constexpr std::uint32_t kIpUdp = 20 + 8;
constexpr std::uint32_t kSwitchmlHeader = 8 + 2;  // header, and exponents
constexpr std::uint32_t kRoce = 12 + 4;           // base header, and invariant checksum
// In a message this long, the last segment does not matter.
constexpr std::uint64_t kLongMessage = 1'000'000'000;

Frame frame_of(core::ElementLayout layout, std::uint32_t elements) {
  const std::size_t datagram = core::datagram_bytes(core::Kind::add, layout, elements, false);
  return {elements, kEthernet + kIpUdp + static_cast<std::uint32_t>(datagram)};
}

}  // namespace

Frame switchml_udp_frame(std::uint32_t elements) {
  return {elements, kEthernet + kIpUdp + kSwitchmlHeader + 4 * elements};
}

Frame switchml_rdma_frame(std::uint32_t elements) {
  return {elements, kEthernet + kIpUdp + kRoce + 4 * elements};
}

Frame infold_frame(std::uint32_t elements) {
  return frame_of({core::WireFormat::bfp32, core::DataType::f32}, elements);
}

Frame infold_integer_frame(std::uint32_t elements) {
  return frame_of({core::WireFormat::i32, core::DataType::i32}, elements);
}

double ring_elements_per_second(double bits_per_second, std::uint32_t workers) {
  const double stretch = static_cast<double>(predict::tcp_link_bytes(kLongMessage, {})) /
                         static_cast<double>(kLongMessage);
  const double passes = 2.0 * (workers - 1) / workers;
  return bits_per_second / (32 * stretch * passes);
}

}  // namespace infold::reproduce
