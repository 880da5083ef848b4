// SPDX-License-Identifier: Apache-2.0
#include "status/switch_metrics.h"

#include <algorithm>

#include "status/prometheus.h"

namespace infold::status {
namespace {

void write_jobs(const SwitchMetrics& metrics, PrometheusText& text) {
  const auto running = std::count_if(metrics.jobs.begin(), metrics.jobs.end(),
                                     [](const JobMetrics& each) { return each.running; });
  const auto joining = metrics.jobs.size() - static_cast<std::size_t>(running);
  text.begin(Metric::gauge, "infold_jobs",
             "Jobs that wait for ranks (joining), and jobs with all ranks (running).");
  text.sample({{"state", "joining"}}, joining);
  text.sample({{"state", "running"}}, static_cast<std::uint64_t>(running));
  text.begin(Metric::gauge, "infold_job_world", "Ranks that a job has when it is complete.");
  for (const JobMetrics& job : metrics.jobs) text.sample({{"job_name", job.name}}, job.world);
  text.begin(Metric::gauge, "infold_job_ranks", "Ranks of a job that have joined and not left.");
  for (const JobMetrics& job : metrics.jobs) text.sample({{"job_name", job.name}}, job.ranks);
  text.begin(Metric::gauge, "infold_job_slots", "Slots that a job holds at each site.");
  for (const JobMetrics& job : metrics.jobs) text.sample({{"job_name", job.name}}, job.slots);
}

void write_packets(const SwitchMetrics& metrics, PrometheusText& text) {
  text.begin(Metric::counter, "infold_packets_total",
             "Packets by verdict, of all jobs since the start and of no job.");
  for (const PacketCount& each : metrics.packets) {
    text.sample({{"verdict", each.verdict}}, each.packets);
  }
  const bool counts_by_job =
      std::any_of(metrics.jobs.begin(), metrics.jobs.end(),
                  [](const JobMetrics& job) { return !job.packets.empty(); });
  if (!counts_by_job) return;
  text.begin(Metric::counter, "infold_job_packets_total",
             "Packets of a job by verdict, since the job began.");
  for (const JobMetrics& job : metrics.jobs) {
    for (const PacketCount& each : job.packets) {
      text.sample({{"job_name", job.name}, {"verdict", each.verdict}}, each.packets);
    }
  }
}

void write_traffic(const SwitchMetrics& metrics, PrometheusText& text) {
  if (!metrics.counts_traffic) return;
  text.single(Metric::counter, "infold_received_packets_total", "Packets received.",
              metrics.received.packets);
  text.single(Metric::counter, "infold_received_bytes_total",
              "Bytes of received packets, without headers.", metrics.received.bytes);
  text.single(Metric::counter, "infold_sent_packets_total", "Packets sent, one for each receiver.",
              metrics.sent.packets);
  text.single(Metric::counter, "infold_sent_bytes_total", "Bytes of sent packets, without headers.",
              metrics.sent.bytes);
  if (!metrics.sockets) return;
  text.single(Metric::counter, "infold_unsent_packets_total",
              "Packets that the kernel refused to send.", metrics.sockets->unsent);
  text.begin(Metric::counter, "infold_socket_messages_total",
             "Messages between sockets and the switch. A message may hold many packets.");
  text.sample({{"direction", "received"}}, metrics.sockets->calls_received);
  text.sample({{"direction", "sent"}}, metrics.sockets->calls_sent);
}

}  // namespace

std::uint64_t SwitchMetrics::packets_of(std::string_view verdict) const {
  const auto found =
      std::find_if(packets.begin(), packets.end(),
                   [verdict](const PacketCount& each) { return each.verdict == verdict; });
  return found == packets.end() ? 0 : found->packets;
}

std::string metrics_text(const SwitchMetrics& metrics, std::string_view version) {
  PrometheusText text;
  text.begin(Metric::gauge, "infold_build_info",
             "Version and plane of this switch. The value is 1.");
  text.sample({{"version", version}, {"plane", metrics.plane}}, 1);
  write_jobs(metrics, text);
  text.single(Metric::gauge, "infold_slots", "Slots of each site for all jobs together.",
              metrics.slots);
  text.single(Metric::gauge, "infold_slots_used", "Slots of each site that jobs hold.",
              metrics.slots_used);
  text.single(Metric::gauge, "infold_memory_bytes", "Bytes of memory for slots.",
              metrics.memory_bytes);
  write_packets(metrics, text);
  write_traffic(metrics, text);
  return text.take();
}

}  // namespace infold::status
