// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/lossy_endpoint.h"
#include "io/memory_endpoint.h"

namespace infold::io {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const Received& received) {
  return {reinterpret_cast<const char*>(received.datagram.data()), received.datagram.size()};
}

std::vector<std::string> receive_all(Endpoint& endpoint) {
  std::vector<std::string> texts;
  for (auto batch = endpoint.receive(); !batch.empty(); batch = endpoint.receive()) {
    for (const Received& received : batch) texts.push_back(text_of(received));
  }
  return texts;
}

TEST(MemoryEndpoint, DeliversInOrderAndSaysFromWhom) {
  MemoryEndpoint a({});
  MemoryEndpoint b({});
  MemoryEndpoint c({});
  const auto [b_at_a, a_at_b] = MemoryEndpoint::connect(a, b);
  const auto [c_at_a, a_at_c] = MemoryEndpoint::connect(a, c);
  b.send(a_at_b, bytes_of("one"));
  c.send(a_at_c, bytes_of("two"));
  const auto batch = a.receive();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(text_of(batch[0]), "one");
  EXPECT_EQ(batch[0].from, b_at_a);
  EXPECT_EQ(text_of(batch[1]), "two");
  EXPECT_EQ(batch[1].from, c_at_a);
  EXPECT_TRUE(a.receive().empty());
}

TEST(MemoryEndpoint, MayBeConnectedToItself) {
  MemoryEndpoint endpoint({});
  const auto [first, second] = MemoryEndpoint::connect(endpoint, endpoint);
  EXPECT_NE(first, second);
  endpoint.send(first, bytes_of("x"));
  auto batch = endpoint.receive();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].from, second);
  endpoint.send(second, bytes_of("y"));
  batch = endpoint.receive();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].from, first);
}

TEST(MemoryEndpoint, DropsWhenFullAndWhatIsTooLong) {
  MemoryEndpoint a({});
  MemoryEndpoint b({.datagram_bytes_max = 3, .queue_datagrams = 2});
  const Neighbour to_b = MemoryEndpoint::connect(a, b).first;
  a.send(to_b, bytes_of("long"));
  for (const char* text : {"1", "2", "3"}) a.send(to_b, bytes_of(text));
  EXPECT_EQ(receive_all(b), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(a.counters().sent, 4U);
  EXPECT_EQ(a.counters().overflowed, 2U);
}

TEST(MemoryEndpoint, ABatchStaysValidUntilTheNextReceive) {
  MemoryEndpoint a({});
  MemoryEndpoint b({.queue_datagrams = 2});
  const Neighbour to_b = MemoryEndpoint::connect(a, b).first;
  a.send(to_b, bytes_of("kept"));
  const auto batch = b.receive();
  a.send(to_b, bytes_of("next"));
  a.send(to_b, bytes_of("full"));  // the place of "kept" is still taken
  EXPECT_EQ(text_of(batch[0]), "kept");
  EXPECT_EQ(receive_all(b), std::vector<std::string>{"next"});
}

TEST(MemoryEndpoint, WaitEndsAtTheDeadlineByADatagramOrAWakeUp) {
  MemoryEndpoint a({});
  MemoryEndpoint b({});
  const Neighbour to_b = MemoryEndpoint::connect(a, b).first;
  const base::Instant deadline = monotonic_now() + base::milliseconds(2);
  b.wait(deadline);
  EXPECT_GE(monotonic_now(), deadline);

  b.wake();  // wakes the wait that follows
  b.wait(base::Instant::never());

  std::thread sender([&] { a.send(to_b, bytes_of("x")); });
  b.wait(base::Instant::never());
  sender.join();
  EXPECT_EQ(receive_all(b), std::vector<std::string>{"x"});
}

TEST(MemoryEndpoint, SendingToAnEndpointThatIsGoneIsAllowed) {
  MemoryEndpoint a({});
  Neighbour to_b{};
  {
    MemoryEndpoint b({});
    to_b = MemoryEndpoint::connect(a, b).first;
  }
  a.send(to_b, bytes_of("x"));
  EXPECT_EQ(a.counters().sent, 1U);
}

struct LossyPair {
  explicit LossyPair(const LossyOptions& options) {
    auto endpoint = std::make_unique<MemoryEndpoint>(MemoryEndpointOptions{});
    to_target = MemoryEndpoint::connect(*endpoint, target).first;
    source = std::make_unique<LossyEndpoint>(std::move(endpoint), options);
  }

  std::vector<std::string> send_numbers(int count) {
    for (int i = 0; i < count; ++i) source->send(to_target, bytes_of(std::to_string(i)));
    return receive_all(target);
  }

  MemoryEndpoint target{{.queue_datagrams = 10'000}};
  std::unique_ptr<LossyEndpoint> source;
  Neighbour to_target{};
};

TEST(LossyEndpoint, LosesAboutWhatItIsTold) {
  LossyPair pair({.loss = 0.3, .seed = 1});
  const auto arrived = pair.send_numbers(2000);
  const EndpointCounters counters = pair.source->counters();
  EXPECT_EQ(counters.sent, 2000U);
  EXPECT_EQ(arrived.size(), 2000 - counters.lost);
  EXPECT_NEAR(static_cast<double>(counters.lost), 600, 100);
}

TEST(LossyEndpoint, DuplicatesAndReordersWithoutLosing) {
  LossyPair pair({.duplication = 0.2, .reordering = 0.2, .seed = 2});
  auto arrived = pair.send_numbers(2000);
  const EndpointCounters counters = pair.source->counters();
  EXPECT_GT(counters.duplicated, 200U);
  EXPECT_GT(counters.reordered, 200U);
  std::vector<int> numbers;
  for (const std::string& text : arrived) numbers.push_back(std::stoi(text));
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  EXPECT_GE(numbers.size(), 2000U - 8);  // the last few may still be held
}

// The endpoint may lose a whole batch, so an empty batch does not mean that nothing is left.
TEST(LossyEndpoint, LosesWhatArrivesWhereTheOtherEndCannot) {
  MemoryEndpoint source({.queue_datagrams = 10'000});
  auto endpoint =
      std::make_unique<MemoryEndpoint>(MemoryEndpointOptions{.queue_datagrams = 10'000});
  const Neighbour to_target = MemoryEndpoint::connect(source, *endpoint).first;
  LossyEndpoint target(std::move(endpoint), {.seed = 4, .loss_of_received = 0.3});
  for (int i = 0; i < 2000; ++i) source.send(to_target, bytes_of(std::to_string(i)));
  std::size_t kept = 0;
  while (target.counters().arrived < 2000) kept += target.receive().size();
  const EndpointCounters counters = target.counters();
  EXPECT_EQ(kept, 2000 - counters.lost);
  EXPECT_NEAR(static_cast<double>(counters.lost), 600, 100);
  EXPECT_EQ(counters.sent, 0U);
}

TEST(LossyEndpoint, ASeedRepeatsItsChoices) {
  const LossyOptions options = {.loss = 0.2, .duplication = 0.1, .reordering = 0.1, .seed = 3};
  EXPECT_EQ(LossyPair(options).send_numbers(500), LossyPair(options).send_numbers(500));
}

}  // namespace
}  // namespace infold::io
