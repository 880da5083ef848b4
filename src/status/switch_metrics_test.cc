// SPDX-License-Identifier: Apache-2.0
//
// The metrics page of a switch. Dashboards and alarms rely on its names and texts.
#include "status/switch_metrics.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::status {
namespace {

using testing::HasSubstr;
using testing::Not;

SwitchMetrics metrics_of(bool is_user) {
  SwitchMetrics metrics;
  metrics.plane = is_user ? "user" : "xdp";
  metrics.jobs = {{"train", 3, 4, 4, 512, true, {{"completed", 19}}}, {"late", 0, 2, 1, 0, false}};
  metrics.slots = 4096;
  metrics.slots_used = 512;
  metrics.memory_bytes = 1000;
  metrics.received = {50, 5000};
  metrics.sent = {40, 4000};
  metrics.packets = {{"completed", 20}, {"dropped_foreign_job", 5}, {"dropped_tag", 0}};
  if (is_user) metrics.sockets = {7, 6, 1};
  return metrics;
}

constexpr const char* kPage =
    R"(# HELP infold_build_info Version and plane of this switch. The value is 1.
# TYPE infold_build_info gauge
infold_build_info{version="1.2.3",plane="user"} 1
# HELP infold_jobs Jobs that wait for ranks (joining), and jobs with all ranks (running).
# TYPE infold_jobs gauge
infold_jobs{state="joining"} 1
infold_jobs{state="running"} 1
# HELP infold_job_world Ranks that a job has when it is complete.
# TYPE infold_job_world gauge
infold_job_world{job_name="train"} 4
infold_job_world{job_name="late"} 2
# HELP infold_job_ranks Ranks of a job that have joined and not left.
# TYPE infold_job_ranks gauge
infold_job_ranks{job_name="train"} 4
infold_job_ranks{job_name="late"} 1
# HELP infold_job_slots Slots that a job holds at each site.
# TYPE infold_job_slots gauge
infold_job_slots{job_name="train"} 512
infold_job_slots{job_name="late"} 0
# HELP infold_slots Slots of each site for all jobs together.
# TYPE infold_slots gauge
infold_slots 4096
# HELP infold_slots_used Slots of each site that jobs hold.
# TYPE infold_slots_used gauge
infold_slots_used 512
# HELP infold_memory_bytes Bytes of memory for slots.
# TYPE infold_memory_bytes gauge
infold_memory_bytes 1000
# HELP infold_packets_total Packets by verdict, of all jobs since the start and of no job.
# TYPE infold_packets_total counter
infold_packets_total{verdict="completed"} 20
infold_packets_total{verdict="dropped_foreign_job"} 5
infold_packets_total{verdict="dropped_tag"} 0
# HELP infold_job_packets_total Packets of a job by verdict, since the job began.
# TYPE infold_job_packets_total counter
infold_job_packets_total{job_name="train",verdict="completed"} 19
# HELP infold_received_packets_total Packets received.
# TYPE infold_received_packets_total counter
infold_received_packets_total 50
# HELP infold_received_bytes_total Bytes of received packets, without headers.
# TYPE infold_received_bytes_total counter
infold_received_bytes_total 5000
# HELP infold_sent_packets_total Packets sent, one for each receiver.
# TYPE infold_sent_packets_total counter
infold_sent_packets_total 40
# HELP infold_sent_bytes_total Bytes of sent packets, without headers.
# TYPE infold_sent_bytes_total counter
infold_sent_bytes_total 4000
# HELP infold_unsent_packets_total Packets that the kernel refused to send.
# TYPE infold_unsent_packets_total counter
infold_unsent_packets_total 1
)"
    "# HELP infold_socket_messages_total Messages between sockets and the switch. "
    "A message may hold many packets.\n"
    R"(# TYPE infold_socket_messages_total counter
infold_socket_messages_total{direction="received"} 7
infold_socket_messages_total{direction="sent"} 6
)";

TEST(SwitchMetrics, ThePageHasEveryMetric) {
  EXPECT_EQ(metrics_text(metrics_of(true), "1.2.3"), kPage);
}

TEST(SwitchMetrics, APlaneLeavesOutCountersThatItDoesNotHave) {
  SwitchMetrics metrics = metrics_of(false);
  EXPECT_THAT(metrics_text(metrics, "1"), Not(HasSubstr("infold_unsent_packets_total")));
  EXPECT_THAT(metrics_text(metrics, "1"), Not(HasSubstr("infold_socket_messages_total")));
  metrics.counts_traffic = false;
  EXPECT_THAT(metrics_text(metrics, "1"), Not(HasSubstr("_packets_total 50")));
  metrics.jobs[0].packets.clear();
  EXPECT_THAT(metrics_text(metrics, "1"), Not(HasSubstr("infold_job_packets_total")));
}

TEST(SwitchMetrics, PacketsAreFoundByTheirVerdict) {
  const SwitchMetrics metrics = metrics_of(true);
  EXPECT_EQ(metrics.packets_of("dropped_foreign_job"), 5U);
  EXPECT_EQ(metrics.packets_of("dropped_busy"), 0U) << "not counted by this plane";
}

}  // namespace
}  // namespace infold::status
