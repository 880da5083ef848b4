// SPDX-License-Identifier: Apache-2.0
#include "p4/targets/target.h"

#include <arpa/inet.h>

namespace infold::p4 {

const TargetLimits& limits_of(TargetKind target) {
  return target == TargetKind::bmv2 ? bmv2_limits() : tofino_limits();
}

std::unique_ptr<Target> make_target(const Program& program) {
  return program.target() == TargetKind::bmv2 ? make_bmv2_target(program)
                                              : make_tofino_target(program);
}

std::uint32_t ipv4_of(const io::SocketAddress& address) {
  // The alignment is that of the address family's own structure.
  return ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
}

}  // namespace infold::p4
