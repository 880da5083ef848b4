// SPDX-License-Identifier: Apache-2.0

#include "cli/machine.h"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <optional>
#include <set>
#include <sys/utsname.h>
#include <utility>

#include <fmt/format.h>
#include <hwy/targets.h>

#include "cli/line/build_info.h"
#include "io/host/privileges.h"
#include "join/service/join_server.h"

namespace infold::cli {
namespace {

// Enough for a pool of 512 slots with 1500-byte packets from four workers that send at once. The
// kernel accounts each such packet as 2304 bytes, which makes 4.7 MB in total. With a smaller
// buffer, the receiving host drops bursts that the link could carry.
constexpr std::uint64_t kSocketBufferBytesWanted = std::uint64_t{4} << 20;
// A switch asks for this much (src/switch/switch_server.cc), and docs/howto.md advises it.
constexpr std::uint64_t kSocketBufferBytesAdvised = std::uint64_t{16} << 20;
// Carries 352 elements of 32 bits, which is the chunk of all published speeds.
constexpr int kMtuWanted = 1500;
// Linux 5.0 added UDP generic receive offload. Without it each packet costs a system call.
constexpr int kKernelMajorWanted = 5;

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop == text.data()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<Finding> inspect_build() {
  std::vector<Finding> findings;
  findings.push_back({.name = "build",
                      .found = fmt::format("infold {}, {}, {}", kVersion, kCompiler, kBuildType)});
  for (const BuildPart& part : kBuildParts) {
    Finding finding{.name = fmt::format("part {}", part.name)};
    finding.ok = part.present;
    finding.found = part.present ? "built in" : "not built in";
    if (!part.present) finding.advice = fmt::format("install {} and build again", part.package);
    findings.push_back(finding);
  }
  return findings;
}

Finding inspect_cpu() {
  std::string names;
  const std::int64_t supported = hwy::SupportedTargets();
  // Lower bits are better targets, and the list keeps that order.
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((supported & target) == 0) continue;
    names += (names.empty() ? "" : " ") + std::string(hwy::TargetName(target));
  }
  Finding finding{.name = "cpu", .found = fmt::format("vector targets: {}", names)};
  finding.ok = (supported & ~std::int64_t{HWY_SCALAR | HWY_EMU128}) != 0;
  if (!finding.ok)
    finding.advice = "use a CPU with SSE4 or NEON; on this one, kernels run as scalar code";
  return finding;
}

Finding inspect_kernel() {
  Finding finding{.name = "kernel"};
  utsname name{};
  if (uname(&name) != 0) {
    finding.ok = false;
    finding.found = "unknown";
    finding.advice = "run infold on Linux";
    return finding;
  }
  finding.found = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  finding.ok = parse_number(name.release).value_or(0) >= kKernelMajorWanted;
  if (!finding.ok) {
    finding.advice =
        fmt::format("install Linux {}.0 or newer, which batches UDP packets", kKernelMajorWanted);
  }
  return finding;
}

std::set<std::string> interfaces_up() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::set<std::string> names;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool up = (entry->ifa_flags & IFF_UP) != 0;
    if (up && (entry->ifa_flags & IFF_LOOPBACK) == 0) names.insert(entry->ifa_name);
  }
  return names;
}

std::vector<Finding> inspect_interfaces() {
  std::vector<Finding> findings;
  for (const auto& interface : interfaces_up()) {
    const auto line = read_line("/sys/class/net/" + interface + "/mtu");
    const auto mtu = line ? parse_number(*line) : std::nullopt;
    Finding finding{.name = "interface " + interface};
    finding.found = mtu ? fmt::format("MTU {}", *mtu) : "MTU unknown";
    finding.ok = mtu && *mtu >= kMtuWanted;
    if (!finding.ok) {
      finding.advice = fmt::format(
          "infold sends smaller packets; if the network carries more: sudo ip link set {} mtu {}",
          interface, kMtuWanted);
    }
    findings.push_back(finding);
  }
  return findings;
}

Finding inspect_socket_buffer(const std::string& direction, const std::string& key,
                              std::optional<std::uint64_t> bytes_max) {
  Finding finding{.name = "socket " + direction + " buffer"};
  finding.found = bytes_max ? fmt::format("net.core.{} = {}", key, *bytes_max) : "unknown";
  finding.ok = bytes_max && *bytes_max >= kSocketBufferBytesWanted;
  if (!finding.ok) {
    finding.advice = fmt::format("sudo sysctl -w net.core.{}={}", key, kSocketBufferBytesAdvised);
  }
  return finding;
}

std::vector<Finding> inspect_socket_buffers() {
  std::vector<Finding> findings;
  constexpr std::pair<const char*, const char*> kBuffers[] = {{"receive", "rmem_max"},
                                                              {"send", "wmem_max"}};
  for (const auto& [direction, key] : kBuffers) {
    const auto line = read_line(std::string("/proc/sys/net/core/") + key);
    findings.push_back(
        inspect_socket_buffer(direction, key, line ? parse_number(*line) : std::nullopt));
  }
  return findings;
}

Finding inspect_open_files(io::DescriptorLimits limits) {
  const auto shown = [](std::size_t limit) {
    return limit == SIZE_MAX ? std::string("unlimited") : fmt::format("{}", limit);
  };
  const std::uint32_t wanted = join::ConnectionLimits{}.connections_max;
  const std::size_t raised = io::raised_descriptor_limit(limits, join::kDescriptorsWanted);
  const std::uint32_t connections = join::connections_within(raised, wanted);
  Finding finding{.name = "open files", .ok = connections == wanted};
  finding.found = fmt::format("RLIMIT_NOFILE soft {}, hard {}; a switch accepts {} connections",
                              shown(limits.now), shown(limits.most), connections);
  if (!finding.ok) {
    finding.advice = fmt::format(
        "for {} connections, set the hard limit to {} with ulimit -Hn or LimitNOFILE=", wanted,
        wanted + join::kDescriptorsKept);
  }
  return finding;
}

Finding inspect_privileges() {
  const auto answer = [](io::Privilege each) { return io::holds(each) ? "yes" : "no"; };
  // Missing privileges do not make a warning, because UDP needs none and infold does not need root.
  return {.name = "privileges",
          .found = fmt::format("network administration: {}, BPF: {}",
                               answer(io::Privilege::network_administration),
                               answer(io::Privilege::bpf))};
}

}  // namespace infold::cli
