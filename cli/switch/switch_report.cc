// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/switch_report.h"

#include <utility>

#include "cli/line/build_info.h"
#include "status/prometheus.h"

namespace infold::cli {

void report_joining(Output& output, const join::JoinServer::Budget& joining) {
  output.text("joining: {} connections, {} threads and {:.0f} MB at most\n", joining.connections,
              joining.threads, static_cast<double>(joining.memory_bytes) / 1e6);
}

void report_end(Output& output, const status::SwitchMetrics& metrics) {
  nlohmann::ordered_json by_reason = nlohmann::ordered_json::object();
  std::string reasons;
  for (const status::PacketCount& each : metrics.packets) {
    by_reason[each.verdict] = each.packets;
    if (each.packets != 0) reasons += fmt::format(", {} {}", each.packets, each.verdict);
  }
  nlohmann::ordered_json object = {{"event", "stopped"}, {"plane", metrics.plane}};
  if (metrics.counts_traffic) {
    output.text("stopped: {} packets of {:.1f} MB in, {} of {:.1f} MB out{}\n",
                metrics.received.packets, static_cast<double>(metrics.received.bytes) / 1e6,
                metrics.sent.packets, static_cast<double>(metrics.sent.bytes) / 1e6, reasons);
    object.update({{"received_packets", metrics.received.packets},
                   {"received_bytes", metrics.received.bytes},
                   {"sent_packets", metrics.sent.packets},
                   {"sent_bytes", metrics.sent.bytes}});
  } else {
    output.text("stopped{}{}\n", reasons.empty() ? "" : ":",
                reasons.substr(reasons.empty() ? 0 : 1));
  }
  object["packets"] = by_reason;
  if (metrics.sockets) {
    object["unsent_packets"] = metrics.sockets->unsent;
    object["messages_received"] = metrics.sockets->calls_received;
    object["messages_sent"] = metrics.sockets->calls_sent;
  }
  output.object(object);
}

std::optional<std::unique_ptr<io::PageServer>> serve_metrics(
    Output& output, const io::SocketAddress& metrics, std::function<status::SwitchMetrics()> look) {
  if (!metrics.is_set()) return nullptr;
  io::PageOptions options;
  options.listen = metrics;
  options.path = "/metrics";
  options.content_type = status::PrometheusText::kContentType;
  options.write = [look = std::move(look)] { return status::metrics_text(look(), kVersion); };
  auto page = io::PageServer::start(std::move(options));
  if (page) return std::move(*page);
  output.log("infold switch: --metrics {}: {}\n", metrics.text(), page.error().detail);
  return std::nullopt;
}

std::string metrics_place(const io::PageServer* page) {
  return page == nullptr ? "" : page->address().text();
}

}  // namespace infold::cli
