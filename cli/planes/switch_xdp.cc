// SPDX-License-Identifier: Apache-2.0
//
// `infold switch --plane xdp`: the daemon that runs with the packet program. First it prints the
// interfaces and the mode of each, then changes of the interfaces, and at the end the counters.
#include "cli/planes/planes.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_report.h"
#include "planes/xdp/kernel_switch.h"
#include "study/desk/interrupt.h"

namespace infold::cli {
namespace {

// The longest time until the daemon notices a signal or a lost interface.
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
    output.text(
        "{}: its other end must compute checksums: ethtool -K INTERFACE tx off. For results in "
        "trains "
        "it needs gro on, and this end needs ethtool -K {} tso off\n",
        interface.name, interface.name);
  }
  if (port.attachment.ingress_outlives_us()) {
    output.text(
        "{}: if this process is killed, a program that passes all packets stays at its ingress; "
        "the next switch replaces it\n",
        interface.name);
  }
}

void announce(Output& output, const xdp::KernelSwitch& server, const PlaneOptions& options,
              const std::string& metrics) {
  const std::string listen = server.sites().front().address;
  const std::string join_address = server.join_address().text();
  const double megabytes = static_cast<double>(server.memory_bytes()) / 1e6;
  const std::string& parent = options.parent.place;
  output.text("infold switch: packets at {}, summed in the kernel; ranks join at {}{}\n", listen,
              join_address, parent.empty() ? "" : "; sums go up to " + parent);
  output.text("slots: {}, {:.0f} MB of kernel memory; datagrams of up to {} bytes{}\n",
              options.slots, megabytes, server.datagram_bytes_max(),
              options.pin ? "; pinned below /sys/fs/bpf/infold" : "");
  const std::size_t native_slot = server.native_slot_bytes();
  output.text(
      "slots of jobs that join for wire format native: {:.0f} kB more each, at most {:.0f} MB\n",
      static_cast<double>(native_slot) / 1e3,
      static_cast<double>(native_slot * options.slots) / 1e6);
  const join::JoinServer::Budget joining = server.join_budget();
  report_joining(output, joining);
  options.keys->announce(output, server.join_address());
  if (!metrics.empty()) output.text("metrics: http://{}/metrics\n", metrics);
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
                 {"join_connections_max", joining.connections},
                 {"join_threads_max", joining.threads},
                 {"join_memory_bytes_max", joining.memory_bytes},
                 {"listen", listen},
                 {"join", join_address},
                 {"parent", parent},
                 {"slots", options.slots},
                 {"memory_bytes_max", server.memory_bytes()},
                 {"native_slot_bytes", native_slot},
                 {"datagram_bytes_max", server.datagram_bytes_max()},
                 {"pinned", options.pin},
                 {"metrics", metrics},
                 {"keys", options.keys->describe(server.join_address())},
                 {"interfaces", ports}});
}

class XdpPlane final : public Plane {
 public:
  ExitCode run(const PlaneOptions& options, Output& output) const override;
};

ExitCode XdpPlane::run(const PlaneOptions& options, Output& output) const {
  xdp::KernelSwitchOptions wanted;
  wanted.listen = options.listen;
  wanted.join_address = options.join_address;
  wanted.interfaces = options.interfaces;
  wanted.slots = options.slots;
  wanted.packet_bytes_max = options.mtu;
  wanted.pin = options.pin;
  wanted.parent = options.parent.at;
  wanted.parent_keys = options.parent.join;
  wanted.joining = options.keys->server_options();
  const auto server = xdp::KernelSwitch::start(wanted);
  if (!server) {
    output.log("infold switch: {}\n", server.error());
    return ExitCode::kFailed;
  }
  const auto page = serve_metrics(output, options.metrics, [&] { return (*server)->metrics(); });
  if (!page) return ExitCode::kFailed;
  announce(output, **server, options, metrics_place(page->get()));
  log_start(options.listen.text(), (*server)->join_address().text(), "xdp");
  while (!desk::InterruptGuard::interrupted() && (*server)->has_interfaces()) {
    for (const std::string& news : (*server)->watch(kLook)) log_news(news);
    log_quiet_moment();
    options.keys->look_for_hangup();
  }
  log_stop((*server)->metrics().jobs.size());
  report_end(output, (*server)->metrics());
  if (desk::InterruptGuard::interrupted()) return ExitCode::kDone;
  output.log("infold switch: no interface is left\n");
  return ExitCode::kFailed;
}

}  // namespace

std::unique_ptr<Plane> make_xdp_plane() { return std::make_unique<XdpPlane>(); }

}  // namespace infold::cli
