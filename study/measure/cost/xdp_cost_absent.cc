// SPDX-License-Identifier: Apache-2.0
//
// Replaces xdp_cost.cc in builds without libbpf or without the compiler for packet programs.
#include "study/measure/cost/xdp_cost.h"

namespace infold::measure {
namespace {

base::Result<void> absent() {
  return base::fail(base::Code::unsupported, "bench xdp",
                    "this build has no packet program: libbpf-dev or clang-19 was missing");
}

}  // namespace

base::Result<void> measure_xdp(const BenchWire&, std::uint32_t,
                               const std::function<void(const XdpCost&)>&) {
  return absent();
}

base::Result<void> measure_xdp_without_elements(std::uint32_t,
                                                const std::function<void(const XdpCost&)>&) {
  return absent();
}

}  // namespace infold::measure
