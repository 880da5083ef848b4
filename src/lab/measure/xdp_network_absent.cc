// SPDX-License-Identifier: Apache-2.0
//
// In place of xdp_network.cc where libbpf or the compiler for packet programs was missing.
#include <stdexcept>

#include "lab/measure/xdp_network.h"

namespace infold::lab {

void measure_xdp_network(const XdpNetworkOptions&, std::span<const BenchWire>,
                         const std::function<void(const XdpNetworkCost&)>&) {
  throw std::runtime_error("this build has no packet program: libbpf-dev or clang-19 was missing");
}

}  // namespace infold::lab
