// SPDX-License-Identifier: Apache-2.0
#include "xdp/host_check.h"

#include <cstdint>
#include <cstdio>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace infold::xdp {
namespace {

constexpr int kKernelMajor = 6;
constexpr int kKernelMinor = 1;

// Without these in the kernel's headers, by their numbers, which are part of its interface.
constexpr unsigned kPerfmon = 38;
constexpr unsigned kBpf = 39;

std::uint64_t capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].effective | std::uint64_t{data[1].effective} << 32;
}

}  // namespace

Attempt<void> check_host() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  uname(&kernel);
  if (std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major < kKernelMajor ||
      (major == kKernelMajor && minor < kKernelMinor)) {
    return cannot("this kernel is " + std::string(kernel.release) +
                  "; the packet program needs Linux 6.1 or newer");
  }
  const std::uint64_t held = capabilities();
  const auto holds = [held](unsigned which) { return (held >> which & 1) != 0; };
  std::string missing;
  const auto need = [&](unsigned which, const char* name) {
    const bool is_covered = which != CAP_NET_ADMIN && holds(CAP_SYS_ADMIN);
    if (!holds(which) && !is_covered) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(kBpf, "CAP_BPF");
  need(CAP_NET_ADMIN, "CAP_NET_ADMIN");
  need(kPerfmon, "CAP_PERFMON");
  if (missing.empty()) return {};
  return cannot("this process may not attach packet programs: it lacks " + missing +
                "; start it as root");
}

}  // namespace infold::xdp
