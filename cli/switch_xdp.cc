// SPDX-License-Identifier: Apache-2.0
//
// Says at which interfaces it sums and how, then what happens to them, then what it has counted.
#include "cli/switch_xdp.h"

#include "cli/interrupt.h"
#include "xdp/kernel_switch.h"

namespace infold::cli {
namespace {

// How soon a signal or an interface that has gone is noticed.
constexpr base::Duration kLook = base::milliseconds(100);

const char* mode_name(const xdp::KernelSwitch::Port& port) {
  return port.attachment.is_native() ? "native" : "generic";
}

void announce_port(Output& output, const xdp::KernelSwitch::Port& port) {
  const xdp::Interface& interface = port.interface;
  const std::string driver = interface.driver.empty() ? "no driver" : interface.driver;
  output.text(
      "{} ({}, MTU {}): {} mode{}{}{}\n", interface.name, driver, interface.mtu, mode_name(port),
      port.attachment.why_generic().empty() ? "" : ", slow: ", port.attachment.why_generic(),
      port.attachment.took_over() ? "; taken over from an earlier switch" : "");
  if (interface.is_veth()) {
    output.text("{}: its other end must add up checksums: ethtool -K INTERFACE tx off\n",
                interface.name);
  }
  if (port.attachment.ingress_outlives_us()) {
    output.text(
        "{}: if this process is killed, a program that does nothing then stays at its "
        "ingress; the next switch replaces it\n",
        interface.name);
  }
}

void announce(Output& output, const xdp::KernelSwitch& server, const XdpSwitchOptions& options) {
  const std::string listen = server.sites().front().address;
  const std::string control = server.control_address().text();
  const double megabytes = static_cast<double>(server.memory_bytes()) / 1e6;
  output.text("infold switch: packets at {}, summed in the kernel; ranks join at {}\n", listen,
              control);
  output.text("slots: {}, {:.0f} MB of the kernel's; datagrams of up to {} bytes{}\n",
              options.slots, megabytes, server.datagram_bytes_max(),
              options.pin ? "; pinned below /sys/fs/bpf/infold" : "");
  nlohmann::ordered_json ports = nlohmann::ordered_json::array();
  for (const xdp::KernelSwitch::Port& port : server.ports()) {
    announce_port(output, port);
    ports.push_back({{"interface", port.interface.name},
                     {"driver", port.interface.driver},
                     {"mode", mode_name(port)},
                     {"why_generic", port.attachment.why_generic()},
                     {"ingress", port.attachment.ingress_outlives_us() ? "filter" : "link"},
                     {"taken_over", port.attachment.took_over()}});
  }
  output.object({{"event", "listening"},
                 {"plane", "xdp"},
                 {"listen", listen},
                 {"control", control},
                 {"slots", options.slots},
                 {"memory_bytes_max", server.memory_bytes()},
                 {"datagram_bytes_max", server.datagram_bytes_max()},
                 {"pinned", options.pin},
                 {"interfaces", ports}});
}

void report(Output& output, const xdp::KernelSwitch& server) {
  const xdp::Counters counters = server.counters();
  nlohmann::ordered_json by_name;
  std::uint64_t all = 0;
  std::string text;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const std::string name(xdp::counter_name(i));
    by_name[name] = counters[i];
    all += counters[i];
    if (counters[i] != 0) text += fmt::format(", {} {}", counters[i], name);
  }
  output.text("stopped: {} packets{}; {} past the program\n", all, text, server.strays());
  output.object({{"event", "stopped"},
                 {"datagrams_received", all},
                 {"of_unknown_jobs", counters[INFOLD_XDP_DROPPED_FOREIGN_JOB]},
                 {"past_the_program", server.strays()},
                 {"packets", by_name}});
}

}  // namespace

ExitCode run_xdp_switch(const XdpSwitchOptions& options, Output& output) {
  xdp::KernelSwitchOptions wanted;
  wanted.listen = options.listen;
  wanted.control = options.control;
  wanted.interfaces = options.interfaces;
  wanted.slots = options.slots;
  wanted.packet_bytes_max = options.mtu;
  wanted.pin = options.pin;
  const auto server = xdp::KernelSwitch::start(wanted);
  if (!server) {
    output.log("infold switch: {}\n", server.error());
    return ExitCode::kFailed;
  }
  announce(output, **server, options);
  while (!InterruptGuard::interrupted() && (*server)->has_interfaces()) {
    for (const std::string& news : (*server)->watch(kLook)) output.log("infold switch: {}\n", news);
  }
  report(output, **server);
  if (InterruptGuard::interrupted()) return ExitCode::kDone;
  output.log("infold switch: no interface is left\n");
  return ExitCode::kFailed;
}

}  // namespace infold::cli
