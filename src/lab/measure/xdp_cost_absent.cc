// SPDX-License-Identifier: Apache-2.0
//
// In place of xdp_cost.cc where libbpf or the compiler for packet programs was missing.
#include "lab/measure/xdp_cost.h"

namespace infold::lab {
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

base::Result<void> measure_xdp_control(std::uint32_t, const std::function<void(const XdpCost&)>&) {
  return absent();
}

}  // namespace infold::lab
