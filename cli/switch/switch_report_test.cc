// SPDX-License-Identifier: Apache-2.0
//
// Both planes report the same counters in the same words.
#include "cli/switch/switch_report.h"

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::cli {
namespace {

using site::count_index;
using testing::HasSubstr;
using testing::Not;

site::SwitchStatus status_of(bool is_user) {
  site::SwitchStatus status;
  status.plane = is_user ? "user" : "xdp";
  status.jobs = {{"train", 3, 4, 4, 512, true}, {"late", 0, 2, 1, 0, false}};
  status.slots = 4096;
  status.slots_used = 512;
  status.memory_bytes = 1000;
  status.received = {50, 5000};
  status.sent = {40, 4000};
  status.packets[count_index(core::Verdict::completed)] = 20;
  status.packets[count_index(core::Verdict::dropped_foreign_job)] = 5;
  status.packets[count_index(site::PlaneVerdict::answered_probe)] = 8;
  site::JobPackets& job = status.by_job.emplace_back();
  job.job = 3;
  job.verdicts[count_index(core::Verdict::completed)] = 19;
  status.by_job.push_back({9, {}, 0});  // a job that has just ended
  if (is_user) status.sockets = {7, 6, 1};
  return status;
}

std::string reported(const site::SwitchStatus& status, bool json) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  Output output(json, file.get(), stderr);
  report_end(output, status);
  std::string text(4096, '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

TEST(SwitchReport, MetricsNameJobsSlotsAndReasons) {
  for (const bool is_user : {true, false}) {
    const std::string text = metrics_text(status_of(is_user));
    for (const char* line : {
             "infold_jobs{state=\"joining\"} 1\n",
             "infold_jobs{state=\"running\"} 1\n",
             "infold_job_world{job_name=\"train\"} 4\n",
             "infold_job_ranks{job_name=\"late\"} 1\n",
             "infold_job_slots{job_name=\"train\"} 512\n",
             "infold_slots 4096\n",
             "infold_slots_used 512\n",
             "infold_memory_bytes 1000\n",
             "infold_packets_total{verdict=\"completed\"} 20\n",
             "infold_packets_total{verdict=\"dropped_foreign_job\"} 5\n",
             "infold_packets_total{verdict=\"answered_probe\"} 8\n",
             "infold_packets_total{verdict=\"dropped_tag\"} 0\n",
             "infold_job_packets_total{job_name=\"train\",verdict=\"completed\"} 19\n",
             "infold_received_packets_total 50\n",
             "infold_received_bytes_total 5000\n",
             "infold_sent_packets_total 40\n",
             "infold_sent_bytes_total 4000\n",
         }) {
      EXPECT_THAT(text, HasSubstr(line));
    }
  }
}

TEST(SwitchReport, APlaneLeavesOutCountersThatItDoesNotHave) {
  const std::string user = metrics_text(status_of(true));
  const std::string xdp = metrics_text(status_of(false));
  EXPECT_THAT(user, HasSubstr("infold_unsent_packets_total 1\n"));
  EXPECT_THAT(user, HasSubstr("infold_socket_messages_total{direction=\"received\"} 7\n"));
  EXPECT_THAT(user, Not(HasSubstr("dropped_checksum")));
  EXPECT_THAT(user + xdp, Not(HasSubstr("job_name=\"\"")));
  EXPECT_THAT(xdp, HasSubstr("infold_packets_total{verdict=\"dropped_checksum\"} 0\n"));
  EXPECT_THAT(xdp, HasSubstr("infold_packets_total{verdict=\"dropped_stray\"} 0\n"));
  EXPECT_THAT(xdp, Not(HasSubstr("infold_socket_messages_total")));
}

TEST(SwitchReport, TheEndHasTheNamesOfTheMetrics) {
  for (const bool is_user : {true, false}) {
    const site::SwitchStatus status = status_of(is_user);
    EXPECT_EQ(reported(status, false),
              "stopped: 50 packets of 0.0 MB in, 40 of 0.0 MB out, 20 completed, "
              "5 dropped_foreign_job, 8 answered_probe\n");
    const auto object = nlohmann::json::parse(reported(status, true));
    EXPECT_EQ(object["event"], "stopped");
    EXPECT_EQ(object["plane"], status.plane);
    EXPECT_EQ(object["received_packets"], 50);
    EXPECT_EQ(object["received_bytes"], 5000);
    EXPECT_EQ(object["sent_packets"], 40);
    EXPECT_EQ(object["sent_bytes"], 4000);
    EXPECT_EQ(object["packets"]["completed"], 20);
    EXPECT_EQ(object["packets"].contains("dropped_busy"), !is_user);
    EXPECT_EQ(object.contains("messages_received"), is_user);
  }
}

TEST(SwitchReport, APlaneThatCountsNoTrafficSaysNothingOfIt) {
  site::SwitchStatus status = status_of(false);
  status.counts_traffic = false;
  EXPECT_THAT(metrics_text(status), Not(HasSubstr("_packets_total 50")));
  EXPECT_EQ(reported(status, false),
            "stopped: 20 completed, 5 dropped_foreign_job, 8 answered_probe\n");
  EXPECT_FALSE(nlohmann::json::parse(reported(status, true)).contains("sent_bytes"));
  status.packets = {};
  EXPECT_EQ(reported(status, false), "stopped\n");
}

// A rank that leaves ends the job normally. The report must not look like a failure.
TEST(SwitchReport, ACleanJobHasNotBeenAborted) {
  site::SwitchStatus status = status_of(true);
  status.packets[count_index(core::Verdict::job_ended)] = 1;
  status.packets[count_index(core::Verdict::answered_ended)] = 3;
  const std::string text = reported(status, false);
  EXPECT_THAT(text, HasSubstr(", 1 job_ended, 3 answered_ended"));
  EXPECT_THAT(text, Not(HasSubstr("abort")));
}

// Without a name of its own, a reason would be counted as another one.
TEST(SwitchReport, EveryReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < site::kPacketCounts; ++i) names.insert(site::count_name(i));
  EXPECT_EQ(names.size(), site::kPacketCounts);
  EXPECT_EQ(names.count("unknown"), 0U);
}

}  // namespace
}  // namespace infold::cli
