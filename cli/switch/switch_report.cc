// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/switch_report.h"

#include <algorithm>
#include <utility>

#include "cli/build_info.h"
#include "status/prometheus.h"

namespace infold::cli {
namespace {

using site::SwitchStatus;
using status::Metric;
using status::PrometheusText;

// Returns true if this plane can count by that reason. A switch does not learn what a socket's
// kernel drops.
bool counts(const SwitchStatus& status, std::size_t reason) {
  return !status.sockets || !site::is_of_program(reason);
}

std::string name_of(const SwitchStatus& status, std::uint16_t job) {
  const auto found = std::find_if(
      status.jobs.begin(), status.jobs.end(),
      [job](const control::JobStatus& each) { return each.running && each.job == job; });
  return found == status.jobs.end() ? "" : found->name;
}

void write_jobs(const SwitchStatus& status, PrometheusText& text) {
  const auto running = std::count_if(status.jobs.begin(), status.jobs.end(),
                                     [](const control::JobStatus& each) { return each.running; });
  const auto joining = status.jobs.size() - static_cast<std::size_t>(running);
  text.begin(Metric::gauge, "infold_jobs",
             "Jobs that wait for ranks (joining), and jobs with all ranks (running).");
  text.sample({{"state", "joining"}}, joining);
  text.sample({{"state", "running"}}, static_cast<std::uint64_t>(running));
  text.begin(Metric::gauge, "infold_job_world", "Ranks that a job has when it is complete.");
  for (const control::JobStatus& job : status.jobs)
    text.sample({{"job_name", job.name}}, job.world);
  text.begin(Metric::gauge, "infold_job_ranks", "Ranks of a job that have joined and not left.");
  for (const control::JobStatus& job : status.jobs)
    text.sample({{"job_name", job.name}}, job.ranks);
  text.begin(Metric::gauge, "infold_job_slots", "Slots that a job holds at each site.");
  for (const control::JobStatus& job : status.jobs)
    text.sample({{"job_name", job.name}}, job.slots);
}

void write_packets(const SwitchStatus& status, PrometheusText& text) {
  text.begin(Metric::counter, "infold_packets_total",
             "Packets by verdict, of all jobs since the start and of no job.");
  for (std::size_t i = 0; i < site::kPacketCounts; ++i) {
    if (!counts(status, i)) continue;
    text.sample({{"verdict", site::count_name(i)}}, status.packets[i]);
  }
  if (status.by_job.empty()) return;
  text.begin(Metric::counter, "infold_job_packets_total",
             "Packets of a job by verdict, since the job began.");
  for (const site::JobPackets& job : status.by_job) {
    const std::string name = name_of(status, job.job);
    if (name.empty()) continue;  // the job has ended in between
    for (std::size_t i = 0; i < job.verdicts.size(); ++i) {
      text.sample({{"job_name", name}, {"verdict", site::count_name(i)}}, job.verdicts[i]);
    }
  }
}

void write_traffic(const SwitchStatus& status, PrometheusText& text) {
  if (!status.counts_traffic) return;
  text.single(Metric::counter, "infold_received_packets_total", "Packets received.",
              status.received.packets);
  text.single(Metric::counter, "infold_received_bytes_total",
              "Bytes of received packets, without headers.", status.received.bytes);
  text.single(Metric::counter, "infold_sent_packets_total", "Packets sent, one for each receiver.",
              status.sent.packets);
  text.single(Metric::counter, "infold_sent_bytes_total", "Bytes of sent packets, without headers.",
              status.sent.bytes);
  if (!status.sockets) return;
  text.single(Metric::counter, "infold_unsent_packets_total",
              "Packets that the kernel refused to send.", status.sockets->unsent);
  text.begin(Metric::counter, "infold_socket_messages_total",
             "Messages between sockets and the switch. A message may hold many packets.");
  text.sample({{"direction", "received"}}, status.sockets->calls_received);
  text.sample({{"direction", "sent"}}, status.sockets->calls_sent);
}

}  // namespace

std::string metrics_text(const SwitchStatus& status) {
  PrometheusText text;
  text.begin(Metric::gauge, "infold_build_info",
             "Version and plane of this switch. The value is 1.");
  text.sample({{"version", kVersion}, {"plane", status.plane}}, 1);
  write_jobs(status, text);
  text.single(Metric::gauge, "infold_slots", "Slots of each site for all jobs together.",
              status.slots);
  text.single(Metric::gauge, "infold_slots_used", "Slots of each site that jobs hold.",
              status.slots_used);
  text.single(Metric::gauge, "infold_memory_bytes", "Bytes of memory for slots.",
              status.memory_bytes);
  write_packets(status, text);
  write_traffic(status, text);
  return text.take();
}

void report_joining(Output& output, const control::ControlServer::Budget& joining) {
  output.text("joining: {} connections, {} threads and {:.0f} MB at most\n", joining.connections,
              joining.threads, static_cast<double>(joining.memory_bytes) / 1e6);
}

void report_end(Output& output, const SwitchStatus& status) {
  nlohmann::ordered_json by_reason;
  std::string reasons;
  for (std::size_t i = 0; i < site::kPacketCounts; ++i) {
    if (!counts(status, i)) continue;
    const std::string name = site::count_name(i);
    by_reason[name] = status.packets[i];
    if (status.packets[i] != 0) reasons += fmt::format(", {} {}", status.packets[i], name);
  }
  nlohmann::ordered_json object = {{"event", "stopped"}, {"plane", status.plane}};
  if (status.counts_traffic) {
    output.text("stopped: {} packets of {:.1f} MB in, {} of {:.1f} MB out{}\n",
                status.received.packets, static_cast<double>(status.received.bytes) / 1e6,
                status.sent.packets, static_cast<double>(status.sent.bytes) / 1e6, reasons);
    object.update({{"received_packets", status.received.packets},
                   {"received_bytes", status.received.bytes},
                   {"sent_packets", status.sent.packets},
                   {"sent_bytes", status.sent.bytes}});
  } else {
    output.text("stopped{}{}\n", reasons.empty() ? "" : ":",
                reasons.substr(reasons.empty() ? 0 : 1));
  }
  object["packets"] = by_reason;
  if (status.sockets) {
    object["unsent_packets"] = status.sockets->unsent;
    object["messages_received"] = status.sockets->calls_received;
    object["messages_sent"] = status.sockets->calls_sent;
  }
  output.object(object);
}

std::optional<std::unique_ptr<io::PageServer>> serve_metrics(Output& output,
                                                             const io::SocketAddress& metrics,
                                                             std::function<SwitchStatus()> look) {
  if (!metrics.is_set()) return nullptr;
  io::PageOptions options;
  options.listen = metrics;
  options.path = "/metrics";
  options.content_type = PrometheusText::kContentType;
  options.write = [look = std::move(look)] { return metrics_text(look()); };
  auto page = io::PageServer::start(std::move(options));
  if (page) return std::move(*page);
  output.log("infold switch: --metrics {}: {}\n", metrics.text(), page.error().detail);
  return std::nullopt;
}

std::string metrics_place(const io::PageServer* page) {
  return page == nullptr ? "" : page->address().text();
}

}  // namespace infold::cli
