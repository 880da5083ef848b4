// SPDX-License-Identifier: Apache-2.0
//
// Runs the same checks for the kernel's plane as the plane does before it starts.
#include "cli/machine.h"
#include "planes/xdp/attach/host_check.h"

namespace infold::cli {
namespace {

Finding finding_of(xdp::HostFinding found) {
  return {"kernel plane: " + found.name, found.ok, std::move(found.found), std::move(found.advice)};
}

}  // namespace

Finding inspect_kernel_plane() {
  const auto able = xdp::check_host();
  return {.name = "kernel plane",
          .found = (able ? "can be used" : able.error()) +
                   std::string("; infold doctor --plane xdp reports in full")};
}

std::vector<Finding> inspect_kernel_plane_closely() {
  std::vector<Finding> findings;
  for (xdp::HostFinding& each : xdp::inspect_host())
    findings.push_back(finding_of(std::move(each)));
  for (const std::string& name : interfaces_up()) {
    const auto interface = xdp::find_interface(name);
    if (interface) findings.push_back(finding_of(xdp::inspect_interface(*interface)));
  }
  return findings;
}

}  // namespace infold::cli
