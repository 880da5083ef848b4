// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/switch_p4.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/line/whole_file.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_report.h"
#include "lab/interrupt.h"
#include "p4/pipeline_switch.h"
#include "p4/targets/limits.h"

namespace infold::cli {
namespace {

// The longest time until a signal or a lost device is noticed.
constexpr base::Duration kLook = base::milliseconds(100);

std::optional<std::uint32_t> port_of(const std::string& text, std::uint32_t most) {
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port > most) {
    return std::nullopt;
  }
  return port;
}

// What the compiler writes. The error names the file.
tl::expected<p4::Program, std::string> read_program(p4::TargetKind target,
                                                    const std::string& folder) {
  constexpr std::size_t kBytesMax = 32 << 20;
  std::string texts[2];
  for (int i = 0; i < 2; ++i) {
    const std::string path =
        folder + "/" + (i == 0 ? "infold.p4info.bin" : p4::limits_of(target).program_file);
    auto text = read_file(path, kBytesMax);
    if (!text) return tl::unexpected(path + ": " + text.error());
    texts[i] = std::move(*text);
  }
  auto program = p4::Program::of(target, texts[0], std::move(texts[1]));
  if (!program) return tl::unexpected(folder + ": " + program.error());
  return std::move(*program);
}

void announce(Output& output, const p4::PipelineSwitch& server, const p4::PipelineSwitchOptions& of,
              const std::string& target, const std::string& metrics) {
  const std::string listen = of.listen.text();
  const std::string control = server.control_address().text();
  output.text(
      "infold switch: packets at {}, summed by the P4 device at {}; ranks join at {}\n"
      "slots: {}, {} of a job at most; packets of up to {} elements, in {}; up to {} jobs at a "
      "time\n",
      listen, of.device.address, control, server.slots_total(), server.slots_of_job_max(),
      p4::kElementsMax, core::names_of(server.sites().front().record.formats), p4::kJobsMax);
  const control::ControlServer::Budget joining = server.control_budget();
  report_joining(output, joining);
  if (!metrics.empty()) output.text("metrics: http://{}/metrics\n", metrics);
  output.object({{"event", "listening"},
                 {"plane", "p4"},
                 {"target", target},
                 {"control_connections_max", joining.connections},
                 {"control_threads_max", joining.threads},
                 {"control_memory_bytes_max", joining.memory_bytes},
                 {"listen", listen},
                 {"control", control},
                 {"p4runtime", of.device.address},
                 {"slots", server.slots_total()},
                 {"elements_max", p4::kElementsMax},
                 {"datagram_bytes_max", server.datagram_bytes_max()},
                 {"metrics", metrics}});
}

}  // namespace

void P4Options::declare(Options& options) {
  options.address("--p4runtime", device_, device_at_,
                  "Address of the device's P4Runtime server, HOST:PORT; needs --plane p4");
  options.choice("--target", target_, {"bmv2", "tofino"},
                 "Which program the device runs: that for BMv2, or that for Tofino; needs --plane "
                 "p4");
  options.path("--program", program_,
               "Folder with infold.p4info.bin, and infold.json for BMv2 or infold.bin for Tofino; "
               "needs --plane p4",
               "FOLDER");
  options.text_list("--ports", ports_,
                    "Ports of the device that lead to stations, numbers with commas between; needs "
                    "--plane p4");
  options.whole<std::uint32_t>("--device-id", id_, {0, 0xFFFFFFFF},
                               "Number of the device at its server; needs --plane p4");
}

p4::TargetKind P4Options::target() const {
  return target_ == "bmv2" ? p4::TargetKind::bmv2 : p4::TargetKind::tofino;
}

const char* P4Options::find_given() const {
  if (!device_.empty()) return "--p4runtime";
  if (target() != p4::TargetKind::bmv2) return "--target";
  if (!program_.empty()) return "--program";
  if (!ports_.empty()) return "--ports";
  return id_ != 0 ? "--device-id" : nullptr;
}

std::string P4Options::find_misfit(const io::SocketAddress& listen,
                                   const io::SocketAddress& parent) const {
  if (device_.empty()) return "--p4runtime: --plane p4 needs the address of a P4Runtime server";
  if (program_.empty()) return "--program: --plane p4 needs the folder of the compiled program";
  if (ports_.empty()) return "--ports: --plane p4 needs the device's ports to other stations";
  const std::uint32_t most = p4::limits_of(target()).port_max;
  for (const std::string& port : ports_) {
    if (!port_of(port, most)) {
      return fmt::format("--ports: '{}' is no port of --target {}; allowed: 0 to {}", port, target_,
                         most);
    }
    if (std::count(ports_.begin(), ports_.end(), port) > 1) {
      return "--ports: a port is named twice";
    }
  }
  if (listen.is_ipv6()) return "--listen: --plane p4 sums packets of IPv4 addresses alone";
  if (parent.is_set())
    return "--parent: a P4 pipeline sends no sums up; its ranks are below it alone";
  return "";
}

ExitCode P4Options::run(const P4SwitchOptions& options, Output& output) const {
  auto program = read_program(target(), program_);
  if (!program) {
    output.log("infold switch: --program {}\n", program.error());
    return ExitCode::kFailed;
  }
  p4::PipelineSwitchOptions wanted;
  wanted.listen = options.listen;
  wanted.control = options.control;
  wanted.device = {.address = device_at_.text(), .id = id_};
  wanted.slots = options.slots;
  wanted.datagram_bytes_max = std::min(options.datagram_bytes_max, p4::kDatagramBytesMax);
  const std::uint32_t most = p4::limits_of(target()).port_max;
  for (const std::string& port : ports_) wanted.ports.push_back(port_of(port, most).value_or(0));
  const auto server = p4::PipelineSwitch::start(wanted, std::move(*program));
  if (!server) {
    output.log("infold switch: {}\n", server.error());
    return ExitCode::kFailed;
  }
  const auto page = serve_metrics(output, options.metrics, [&] { return (*server)->status(); });
  if (!page) return ExitCode::kFailed;
  announce(output, **server, wanted, target_, metrics_place(page->get()));
  log_start(options.listen.text(), (*server)->control_address().text(), "p4");
  while (!lab::InterruptGuard::interrupted() && (*server)->why_lost().empty()) {
    (*server)->watch(kLook);
    log_quiet_moment();
  }
  const std::string lost = (*server)->why_lost();
  log_stop((*server)->status().jobs.size());
  report_end(output, (*server)->status());
  if (lab::InterruptGuard::interrupted()) return ExitCode::kDone;
  output.log("infold switch: {}; its jobs end with it\n", lost);
  return ExitCode::kFailed;
}

}  // namespace infold::cli
