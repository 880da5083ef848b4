// SPDX-License-Identifier: Apache-2.0
//
// Tests that all planes report the same counters in the same words.
#include "cli/switch/switch_report.h"

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

status::SwitchMetrics metrics_of(bool is_user) {
  status::SwitchMetrics metrics;
  metrics.plane = is_user ? "user" : "xdp";
  metrics.received = {50, 5000};
  metrics.sent = {40, 4000};
  metrics.packets = {
      {"completed", 20}, {"dropped_foreign_job", 5}, {"dropped_tag", 0}, {"answered_probe", 8}};
  if (is_user) metrics.sockets = {7, 6, 1};
  return metrics;
}

std::string reported(const status::SwitchMetrics& metrics, bool json) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  Output output(json, file.get(), stderr);
  report_end(output, metrics);
  std::string text(4096, '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

TEST(SwitchReport, TheEndHasTheNamesOfTheMetrics) {
  for (const bool is_user : {true, false}) {
    const status::SwitchMetrics metrics = metrics_of(is_user);
    EXPECT_EQ(reported(metrics, false),
              "stopped: 50 packets of 0.0 MB in, 40 of 0.0 MB out, 20 completed, "
              "5 dropped_foreign_job, 8 answered_probe\n");
    const auto object = nlohmann::json::parse(reported(metrics, true));
    EXPECT_EQ(object["event"], "stopped");
    EXPECT_EQ(object["plane"], metrics.plane);
    EXPECT_EQ(object["received_packets"], 50);
    EXPECT_EQ(object["received_bytes"], 5000);
    EXPECT_EQ(object["sent_packets"], 40);
    EXPECT_EQ(object["sent_bytes"], 4000);
    EXPECT_EQ(object["packets"]["completed"], 20);
    EXPECT_EQ(object["packets"]["dropped_tag"], 0);
    EXPECT_EQ(object.contains("messages_received"), is_user);
  }
}

TEST(SwitchReport, APlaneThatCountsNoTrafficSaysNothingOfIt) {
  status::SwitchMetrics metrics = metrics_of(false);
  metrics.counts_traffic = false;
  EXPECT_EQ(reported(metrics, false),
            "stopped: 20 completed, 5 dropped_foreign_job, 8 answered_probe\n");
  EXPECT_FALSE(nlohmann::json::parse(reported(metrics, true)).contains("sent_bytes"));
  metrics.packets = {};
  EXPECT_EQ(reported(metrics, false), "stopped\n");
}

// A rank that leaves ends the job normally, so the report must not look like a failure.
TEST(SwitchReport, ACleanJobHasNotBeenAborted) {
  status::SwitchMetrics metrics = metrics_of(true);
  metrics.packets.push_back({"job_ended", 1});
  metrics.packets.push_back({"answered_ended", 3});
  const std::string text = reported(metrics, false);
  EXPECT_THAT(text, HasSubstr(", 1 job_ended, 3 answered_ended"));
  EXPECT_THAT(text, Not(HasSubstr("abort")));
}

}  // namespace
}  // namespace infold::cli
