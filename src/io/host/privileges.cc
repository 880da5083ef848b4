// SPDX-License-Identifier: Apache-2.0
#include "io/host/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace infold::io {
namespace {

// Older kernel headers lack these names. The numbers are part of the kernel's interface.
constexpr unsigned kPerfmon = 38;
constexpr unsigned kBpf = 39;

unsigned capability_of(Privilege privilege) {
  switch (privilege) {
    case Privilege::network_administration: return CAP_NET_ADMIN;
    case Privilege::bpf: return kBpf;
    case Privilege::tracing: return kPerfmon;
  }
  return CAP_NET_ADMIN;
}

std::uint64_t effective_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].effective | std::uint64_t{data[1].effective} << 32;
}

}  // namespace

const char* capability_name(Privilege privilege) {
  switch (privilege) {
    case Privilege::network_administration: return "CAP_NET_ADMIN";
    case Privilege::bpf: return "CAP_BPF";
    case Privilege::tracing: return "CAP_PERFMON";
  }
  return "";
}

bool holds(Privilege privilege) {
  const std::uint64_t held = effective_capabilities();
  const auto has = [held](unsigned which) { return (held >> which & 1) != 0; };
  // CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON.
  const bool is_covered = privilege != Privilege::network_administration && has(CAP_SYS_ADMIN);
  return has(capability_of(privilege)) || is_covered;
}

}  // namespace infold::io
