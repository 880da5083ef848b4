// SPDX-License-Identifier: Apache-2.0
//
// Tests what the reader of job lists accepts, and its message for each fault.
#include "study/mix/jobs/job_list.h"

#include <gtest/gtest.h>

#include "study/mix/jobs/draw_jobs.h"

namespace infold::mix {
namespace {

TEST(JobList, ReadsJobsInTheOrderOfSubmission) {
  const auto jobs = read_jobs(
      "# a comment\r\n"
      "\n"
      " 2.5 ,\tvgg-16, 4 , 20   # behind a job\r\n"
      "0,BERT-LARGE,8,10\n"
      "2.5,AlexNet,2,1");
  ASSERT_TRUE(jobs) << jobs.error().reason;
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ((*jobs)[0], (JobSpec{0, find_model("BERT-large"), 8, 10}));
  EXPECT_EQ((*jobs)[1], (JobSpec{2.5, find_model("VGG-16"), 4, 20}));
  EXPECT_EQ((*jobs)[2], (JobSpec{2.5, find_model("AlexNet"), 2, 1}));
}

struct Fault {
  const char* text;
  std::size_t line;
  const char* says;
};

constexpr Fault kFaults[] = {
    {"", 0, "the file has no job; write a line for each"},
    {"# nothing\n\n", 0, "the file has no job"},
    {"0, VGG-16, 4, 1\n0, VGG-16, 4\n", 2, "3 fields, not 4"},
    {"0, VGG-16, 4, 1, 7\n", 1, "5 fields, not 4"},
    {"0, VGG-99, 4, 1\n", 1, "unknown model 'VGG-99': must be one of Inception, ResNet-50"},
    {"0, VGG-16, 0, 1\n", 1, "'0' workers: must be 1 to 4096"},
    {"0, VGG-16, 5000, 1\n", 1, "'5000' workers"},
    {"0, VGG-16, -4, 1\n", 1, "'-4' workers"},
    {"0, VGG-16, 4.5, 1\n", 1, "'4.5' workers"},
    {"0, VGG-16, 4, 0\n", 1, "'0' iterations: must be 1 to 10000"},
    {"0, VGG-16, 4, many\n", 1, "'many' iterations"},
    {"soon, VGG-16, 4, 1\n", 1, "submitted at 'soon': must be 0 to 1000000 seconds"},
    {"-1, VGG-16, 4, 1\n", 1, "submitted at '-1'"},
    {"nan, VGG-16, 4, 1\n", 1, "submitted at 'nan'"},
    {"1e9, VGG-16, 4, 1\n", 1, "submitted at '1e9'"},
    {", VGG-16, 4, 1\n", 1, "submitted at ''"},
    {"0, \x1b[2J, 4, 1\n", 1, "unknown model '?[2J'"},
};

TEST(JobList, NamesTheLineAndTheFault) {
  for (const Fault& fault : kFaults) {
    const auto jobs = read_jobs(fault.text);
    ASSERT_FALSE(jobs) << fault.text;
    EXPECT_EQ(jobs.error().line, fault.line) << fault.text;
    EXPECT_NE(jobs.error().reason.find(fault.says), std::string::npos)
        << fault.text << " says " << jobs.error().reason;
  }
}

TEST(JobList, TakesSoManyJobsAndNotOneMore) {
  std::string text;
  for (std::size_t i = 0; i < kJobsMax; ++i) text += "0, VGG-16, 4, 1\n";
  EXPECT_TRUE(read_jobs(text));
  const auto jobs = read_jobs(text + "0, VGG-16, 4, 1\n");
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().line, kJobsMax + 1);
}

TEST(DrawJobs, ComeBackFromTheirText) {
  const std::vector<JobSpec> jobs = draw_jobs({});
  ASSERT_EQ(jobs.size(), 60U);
  const auto again = read_jobs(write_jobs(jobs));
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(*again, jobs);
}

TEST(DrawJobs, TheSeedDecides) {
  EXPECT_EQ(draw_jobs({.seed = 3}), draw_jobs({.seed = 3}));
  EXPECT_NE(draw_jobs({.seed = 3}), draw_jobs({.seed = 4}));
}

TEST(DrawJobs, KeepToTheirOptions) {
  const std::vector<JobSpec> jobs =
      draw_jobs({.jobs = 500, .mean_gap_s = 2, .workers_max = 8, .iterations_max = 6});
  double last_s = 0;
  std::vector<int> of_model(models().size());
  for (const JobSpec& job : jobs) {
    EXPECT_GE(job.submit_s, last_s);
    last_s = job.submit_s;
    EXPECT_GE(job.workers, 2);
    EXPECT_LE(job.workers, 8);
    EXPECT_GE(job.iterations, 2U);
    EXPECT_LE(job.iterations, 6U);
    ++of_model[static_cast<std::size_t>(job.model - models().data())];
  }
  EXPECT_EQ(jobs.front().submit_s, 0);
  EXPECT_NEAR(last_s, 1'000, 150);
  for (const int count : of_model) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace infold::mix
