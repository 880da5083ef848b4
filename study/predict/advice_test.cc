// SPDX-License-Identifier: Apache-2.0
//
// Compares whole sentences, because they are what a person acts on. 8 passages of 107.81 MB are
// 862.5 MB; a ring puts 14 messages of 13.28 MB on each link (link_bytes_test.cc).
#include "study/predict/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::predict {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> advice_on(const Question& question) {
  return advice(question, predict(question));
}

Question workers(std::size_t count) {
  Question question;
  question.worker_rates.assign(count, 10e9);
  return question;
}

TEST(Advice, SaysThatAHostNoFasterThanAWorkerDoesNotHelp) {
  Question question = workers(8);
  question.hosts = {{"host:10G", 10e9}};
  EXPECT_THAT(
      advice_on(question),
      Contains("host:10G takes 4.6 times as long as a ring: the contributions of 8 workers "
               "pass through one port, 863 MB each way, where a ring puts 186 MB on each "
               "link. It takes a port of 46.3 Gbit/s to equal the ring, and of 80 Gbit/s to "
               "keep up with the workers' links."));
}

TEST(Advice, AddsPortsUp) {
  Question question = workers(8);
  question.hosts = {{"host:10G", 10e9}, {"host:10G", 10e9}};
  EXPECT_THAT(advice_on(question),
              Contains("2 x host:10G takes 2.3 times as long as a ring: the contributions of 8 "
                       "workers pass through its ports, 431 MB each way on the busiest, where a "
                       "ring puts 186 MB on each link. It takes ports of 46.3 Gbit/s together to "
                       "equal the ring, and of 80 Gbit/s to keep up with the workers' links."));
}

TEST(Advice, SaysThatWorkersEqualARing) {
  EXPECT_THAT(advice_on(workers(8)),
              ElementsAre("infold would not help here: its best placement (workers) is 1.3 % "
                          "slower than a ring.",
                          "On the workers, without any switch, infold equals a ring in bytes (1.02 "
                          "times) and beats it in hops (2 against 14)."));
}

TEST(Advice, SaysWhatIsBest) {
  Question question = workers(8);
  question.switch_in_path = true;
  EXPECT_EQ(advice_on(question).front(), "Best: switch, 1.73 times as fast as a ring.");
}

TEST(Advice, NamesThePartOfTheWireFormat) {
  Question question = workers(8);
  question.layout.format = core::WireFormat::bfp16;
  EXPECT_THAT(advice_on(question), Contains("The wire format is a factor of 2 in that: 16 bits an "
                                            "element where the ring sends 32."));
  question.layout = {core::WireFormat::bfp32, core::DataType::bf16};
  EXPECT_THAT(
      advice_on(question),
      Contains(HasSubstr("infold would not help here: its best placement (workers) takes")));
  EXPECT_THAT(advice_on(question), Contains(StartsWith("The wire format costs a factor of 2")));
}

TEST(Advice, SaysThatTwoWorkersNeedNoSwitch) {
  Question question = workers(2);
  question.switch_in_path = true;
  EXPECT_THAT(advice_on(question), ElementsAre(HasSubstr("infold would not help here"),
                                               StartsWith("Between 2 workers a ring too")));
  question.hosts = {{"host:10G", 10e9}};
  EXPECT_THAT(advice_on(question),
              Contains(EndsWith("Faster ports would make it no faster than a ring.")));
}

TEST(Advice, SaysThatHopsAreWhatSmallTensorsCost) {
  Question question = workers(8);
  question.tensor_bytes = 4096;
  EXPECT_THAT(advice_on(question), Contains(StartsWith("The tensor is small: 50 us of ")));
  EXPECT_THAT(advice_on(question),
              Contains(StartsWith("On the workers, without any switch, infold takes 2 hops against "
                                  "14: ")));
}

TEST(Advice, SaysWhichProcessorsDecide) {
  Question question = workers(8);
  question.hosts = {{"host:100G", 100e9}};
  // Each of 71,023 chunks has 8 contributions, which take 1 us each on one thread. The links need
  // 86 ms.
  question.processors.site = {1e-6, 0};
  EXPECT_THAT(advice_on(question),
              Contains("host:100G waits for processors: the packets of host:100G take 568 ms, the "
                       "busiest link 86.3 ms. With 7 threads (--threads) the host would keep up."));
  question.processors.rank = {2e-6, 0};
  question.host_threads = 8;
  EXPECT_THAT(advice_on(question),
              Contains("host:100G waits for processors: the packets of a worker take 142 ms, the "
                       "busiest link 86.3 ms."));
}

TEST(Advice, SaysThatOneMachinesProcessorsDecide) {
  Question question = workers(2);
  question.worker_rates.assign(2, kUnlimited);
  question.switch_in_path = true;
  question.processors.rank = question.processors.site = {1e-6, 0};
  question.shared_processors = 1;
  EXPECT_THAT(advice_on(question),
              Contains("switch waits for processors: its packets take 284 ms on the 1 processor of "
                       "the machine."));
  // Links without a limit give no time to compare with.
  question.shared_processors = 4;
  EXPECT_THAT(advice_on(question),
              Contains("switch waits for processors: the packets of switch take 142 ms."));
}

TEST(Advice, QuantitiesHaveThreeDigits) {
  EXPECT_EQ(rate_text(10e9), "10 Gbit/s");
  EXPECT_EQ(rate_text(45.714e9), "45.7 Gbit/s");
  EXPECT_EQ(rate_text(999.9e6), "1 Gbit/s");
  EXPECT_EQ(rate_text(kUnlimited), "no limit");
  EXPECT_EQ(bytes_text(1), "1 B");
  EXPECT_EQ(bytes_text(188'671'920), "189 MB");
  EXPECT_EQ(time_text(0.0862), "86.2 ms");
  EXPECT_EQ(time_text(50e-6), "50 us");
  EXPECT_EQ(time_text(0), "0 ns");
}

}  // namespace
}  // namespace infold::predict
