// SPDX-License-Identifier: Apache-2.0
//
// `infold switch --plane p4`: the controller of a P4 device, as a daemon.

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/line/whole_file.h"
#include "cli/planes/planes.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_report.h"
#include "planes/p4/pipeline_switch.h"
#include "planes/p4/program_names.h"
#include "planes/p4/targets/limits.h"
#include "study/desk/interrupt.h"

namespace infold::cli {
namespace {

// The longest time until the daemon notices a signal or a lost device.
constexpr base::Duration kLook = base::milliseconds(100);

std::optional<std::uint32_t> port_of(const std::string& text, const p4::TargetLimits& limits) {
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || !limits.leads_to_stations(port)) {
    return std::nullopt;
  }
  return port;
}

// Reads the compiler's output. An error names the file.
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

std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

// Reads the files of the options. An error names the option and the file.
tl::expected<p4::DeviceTls, std::string> read_tls(const P4Options& options) {
  constexpr std::size_t kBytesMax = 1 << 20;
  p4::DeviceTls tls;
  tls.server_name = host_of(options.device);
  struct Part {
    const char* option;
    const std::string& path;
    std::string& text;
  };
  for (const Part& part : {Part{"--p4-ca", options.authorities, tls.authorities},
                           Part{"--p4-cert", options.certificate, tls.certificate},
                           Part{"--p4-key", options.key, tls.key}}) {
    if (part.path.empty()) continue;
    auto text = read_file(part.path, kBytesMax);
    const bool is_pem = text && text->find("-----BEGIN ") != std::string::npos;
    if (!is_pem) {
      return tl::unexpected(fmt::format("{} {}: {}", part.option, part.path,
                                        text ? "it is not in PEM form" : text.error()));
    }
    part.text = std::move(*text);
  }
  return tls;
}

void announce(Output& output, const p4::PipelineSwitch& server, const p4::PipelineSwitchOptions& of,
              const std::string& target, const KeyOptions& keys, const std::string& metrics) {
  const std::string listen = of.listen.text();
  const std::string join_address = server.join_address().text();
  output.text(
      "infold switch: packets at {}, summed by the P4 device at {}{}; ranks join at {}\n"
      "slots: {}, {} of a job at most; packets of up to {} elements, in {}; up to {} jobs at a "
      "time\n",
      listen, of.device.address, of.device.tls ? " over TLS" : "", join_address,
      server.slots_total(), server.slots_of_job_max(), p4::kElementsMax,
      core::names_of(server.sites().front().record.formats), p4::kJobsMax);
  const join::JoinServer::Budget joining = server.join_budget();
  report_joining(output, joining);
  keys.announce(output, server.join_address());
  if (!metrics.empty()) output.text("metrics: http://{}/metrics\n", metrics);
  output.object({{"event", "listening"},
                 {"plane", "p4"},
                 {"target", target},
                 {"join_connections_max", joining.connections},
                 {"join_threads_max", joining.threads},
                 {"join_memory_bytes_max", joining.memory_bytes},
                 {"listen", listen},
                 {"join", join_address},
                 {"p4runtime", of.device.address},
                 {"tls", of.device.tls.has_value()},
                 {"slots", server.slots_total()},
                 {"elements_max", p4::kElementsMax},
                 {"datagram_bytes_max", server.datagram_bytes_max()},
                 {"metrics", metrics},
                 {"keys", keys.describe(server.join_address())}});
}

p4::TargetKind target_of(const P4Options& options) {
  return options.target == "bmv2" ? p4::TargetKind::bmv2 : p4::TargetKind::tofino;
}

class P4Plane final : public Plane {
 public:
  std::string find_misfit(const PlaneOptions& options) const override;
  ExitCode run(const PlaneOptions& options, Output& output) const override;
};

std::string P4Plane::find_misfit(const PlaneOptions& options) const {
  const P4Options& own = options.p4;
  if (own.device.empty()) return "--p4runtime: --plane p4 needs the address of a P4Runtime server";
  if (own.program.empty()) return "--program: --plane p4 needs the folder of the compiled program";
  if (own.ports.empty()) return "--ports: --plane p4 needs the device's ports to other stations";
  const p4::TargetLimits& limits = p4::limits_of(target_of(own));
  for (const std::string& port : own.ports) {
    if (!port_of(port, limits)) {
      return fmt::format("--ports: '{}' is not a port of --target {}; allowed: {}", port,
                         own.target, p4::ports_text(limits));
    }
    if (std::count(own.ports.begin(), own.ports.end(), port) > 1) {
      return "--ports: a port is named twice";
    }
  }
  if (own.certificate.empty() != own.key.empty()) {
    return own.key.empty() ? "--p4-cert: needs --p4-key" : "--p4-key: needs --p4-cert";
  }
  if (own.authorities.empty() && !own.key.empty()) {
    return "--p4-cert: needs --p4-ca, because TLS begins with the server's certificate";
  }
  if (options.listen.is_ipv6()) return "--listen: --plane p4 sums packets of IPv4 addresses alone";
  if (options.parent.at.is_set())
    return "--parent: a P4 pipeline sends no sums up; its ranks are below it alone";
  return "";
}

ExitCode P4Plane::run(const PlaneOptions& options, Output& output) const {
  const P4Options& own = options.p4;
  std::optional<p4::DeviceTls> tls;
  if (!own.authorities.empty()) {
    auto read = read_tls(own);
    if (!read) {
      output.log("infold switch: {}\n", read.error());
      return ExitCode::kFailed;
    }
    tls = std::move(*read);
  }
  auto program = read_program(target_of(own), own.program);
  if (!program) {
    output.log("infold switch: --program {}\n", program.error());
    return ExitCode::kFailed;
  }
  p4::PipelineSwitchOptions wanted;
  wanted.listen = options.listen;
  wanted.join_address = options.join_address;
  wanted.device = {.address = own.device_at.text(), .id = own.id, .tls = std::move(tls)};
  wanted.slots = options.slots;
  wanted.joining = options.keys->server_options();
  wanted.datagram_bytes_max = std::min(options.datagram_bytes_max, p4::kDatagramBytesMax);
  const p4::TargetLimits& limits = p4::limits_of(target_of(own));
  for (const std::string& port : own.ports) {
    wanted.ports.push_back(port_of(port, limits).value_or(0));
  }
  const auto server = p4::PipelineSwitch::start(wanted, std::move(*program));
  if (!server) {
    output.log("infold switch: {}\n", server.error());
    return ExitCode::kFailed;
  }
  const auto page = serve_metrics(output, options.metrics, [&] { return (*server)->metrics(); });
  if (!page) return ExitCode::kFailed;
  announce(output, **server, wanted, own.target, *options.keys, metrics_place(page->get()));
  log_start(options.listen.text(), (*server)->join_address().text(), "p4");
  while (!desk::InterruptGuard::interrupted() && (*server)->why_lost().empty()) {
    (*server)->watch(kLook);
    log_quiet_moment();
    options.keys->look_for_hangup();
  }
  const std::string lost = (*server)->why_lost();
  log_stop((*server)->metrics().jobs.size());
  report_end(output, (*server)->metrics());
  if (desk::InterruptGuard::interrupted()) return ExitCode::kDone;
  output.log("infold switch: {}; its jobs end with it\n", lost);
  return ExitCode::kFailed;
}

}  // namespace

std::unique_ptr<Plane> make_p4_plane() { return std::make_unique<P4Plane>(); }

}  // namespace infold::cli
