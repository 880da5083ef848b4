// SPDX-License-Identifier: Apache-2.0
//
// Replaces xdp_network.cc in builds without libbpf or without the compiler for packet programs.
#include <stdexcept>

#include "study/measure/cost/xdp_network.h"

namespace infold::measure {

void measure_xdp_network(const XdpNetworkOptions&, std::span<const BenchWire>,
                         const std::function<void(const XdpNetworkCost&)>&) {
  throw std::runtime_error("this build has no packet program: libbpf-dev or clang-19 was missing");
}

}  // namespace infold::measure
