// SPDX-License-Identifier: Apache-2.0
#include "planes/xdp/attach/host_check.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <sys/utsname.h>
#include <unistd.h>

#include "io/host/privileges.h"
#include "planes/xdp/attach/native_mode.h"

namespace infold::xdp {
namespace {

using io::Privilege;

constexpr int kKernelMajor = 6;
constexpr int kKernelMinor = 1;
constexpr Privilege kNeeded[] = {Privilege::bpf, Privilege::network_administration,
                                 Privilege::tracing};
constexpr char kTypes[] = "/sys/kernel/btf/vmlinux";
constexpr char kCompiles[] = "/proc/sys/net/core/bpf_jit_enable";

HostFinding inspect_kernel() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  uname(&kernel);
  HostFinding finding = {"kernel", true, kernel.release, ""};
  finding.ok = std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
               (major > kKernelMajor || (major == kKernelMajor && minor >= kKernelMinor));
  if (!finding.ok) finding.advice = "the packet program needs Linux 6.1 or newer";
  return finding;
}

// The names of the missing capabilities, separated by commas.
std::string missing_capabilities() {
  std::string missing;
  for (const Privilege each : kNeeded) {
    if (!io::holds(each))
      missing += (missing.empty() ? "" : ", ") + std::string(capability_name(each));
  }
  return missing;
}

HostFinding inspect_capabilities() {
  const std::string missing = missing_capabilities();
  if (missing.empty()) return {"capabilities", true, "CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON", ""};
  return {"capabilities", false, "this process lacks " + missing,
          "start it as root, or as a service with packaging/infold-switch-xdp.service"};
}

HostFinding inspect_types() {
  if (access(kTypes, R_OK) == 0) return {"BTF", true, kTypes, ""};
  return {"BTF", false, std::string("no ") + kTypes,
          "take a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build them"};
}

HostFinding inspect_compiler() {
  char value = '?';
  std::ifstream(kCompiles) >> value;
  if (value != '0') return {"JIT", true, value == '?' ? "unknown" : "on", ""};
  return {"JIT", false, "off, so that the kernel interprets the program",
          "sudo sysctl -w net.core.bpf_jit_enable=1"};
}

}  // namespace

base::Attempt<void> check_host() {
  if (const HostFinding kernel = inspect_kernel(); !kernel.ok) {
    return base::cannot("this kernel is " + kernel.found + "; " + kernel.advice);
  }
  const std::string missing = missing_capabilities();
  if (missing.empty()) return {};
  return base::cannot("this process may not attach packet programs: it lacks " + missing +
                      "; start it as root");
}

std::vector<HostFinding> inspect_host() {
  return {inspect_kernel(), inspect_types(), inspect_compiler(), inspect_capabilities()};
}

HostFinding inspect_interface(const Interface& interface) {
  HostFinding finding = {"interface " + interface.name, true, "", ""};
  const std::string driver = interface.driver.empty() ? "no driver" : "driver " + interface.driver;
  const std::optional<bool> native = offers_native_mode(interface);
  finding.found = !native   ? "native mode if its driver has one, which this kernel does not tell"
                  : *native ? "native mode"
                            : "generic mode, which is slower";
  finding.found += " (" + driver + ", MTU " + std::to_string(interface.mtu) + ")";
  if (native == false) {
    finding.ok = false;
    finding.advice = "name the interfaces whose packets it passes on, if it is a bridge or a bond";
  } else if (interface.mtu > kNativeMtuSure) {
    finding.ok = false;
    finding.advice = "if native mode is refused, set an MTU of " + std::to_string(kNativeMtuSure) +
                     " or less, which is never too large for it";
  } else if (interface.is_veth()) {
    finding.ok = false;
    finding.advice = "its other end must add up checksums: ethtool -K INTERFACE tx off";
  }
  return finding;
}

}  // namespace infold::xdp
