// SPDX-License-Identifier: Apache-2.0
//
// Tests which processes a meeting accepts, and what a member may do to the memory afterwards.

#include "io/memory/shared_memory_meeting.h"

#include <algorithm>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/aggregator/aggregator.h"
#include "io/memory/shared_memory_testing.h"

namespace infold::io {
namespace {

class Meeting : public testing::Test {
 protected:
  using Links = base::Result<std::vector<SharedMemoryLink>>;

  Links host(base::Instant deadline = soon()) { return meeting_.host(terms_, bell_, deadline); }
  Links attend(std::uint32_t member) const { return attend(member, *Doorbell::open()); }
  Links attend(std::uint32_t member, const Doorbell& bell) const {
    return SharedMemoryMeeting::attend(meeting_.name(), terms_, member, bell, soon());
  }
  FileDescriptor connect_to_it() const {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, meeting_.name().data(), meeting_.name().size());
    const auto bytes =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + meeting_.name().size());
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    return socket;
  }

  SharedMemoryMeeting meeting_ = std::move(*SharedMemoryMeeting::open());
  MeetingTerms terms_ = {.ticket = 42, .shape = kShape};
  Doorbell bell_ = *Doorbell::open();
};

TEST_F(Meeting, MembersComeInAnyOrder) {
  terms_.members = 4;
  std::vector<std::thread> members;
  for (const std::uint32_t member : {3U, 1U, 2U}) {
    members.emplace_back([this, member] {
      Links links = attend(member);
      ASSERT_TRUE(links.has_value()) << links.error().detail;
      SharedMemoryEndpoint endpoint(*Doorbell::open(), kShape, std::move(*links));
      endpoint.send(Neighbour{0}, datagram_of(member));
    });
  }
  Links links = host();
  ASSERT_TRUE(links.has_value()) << links.error().detail;
  for (std::thread& each : members) each.join();
  SharedMemoryEndpoint endpoint(*bell_.share(), kShape, std::move(*links));
  const auto batch = endpoint.receive();
  ASSERT_EQ(batch.size(), 3U);
  for (const Received& each : batch) {
    EXPECT_EQ(number_in(each), 1 + static_cast<std::uint32_t>(each.from) / kShape.channels);
  }
}

// Each member sends its number over all its links. Over each link, the number of the other end
// arrives.
TEST_F(Meeting, HubsReachAllAndTheOthersReachHubs) {
  terms_.members = 4;
  terms_.hubs = 2;
  const std::vector<std::vector<std::uint32_t>> expected = {{1, 2, 3}, {0, 2, 3}, {0, 1}, {0, 1}};
  std::vector<Doorbell> bells;
  for (int i = 0; i < 4; ++i) bells.push_back(*Doorbell::open());
  std::vector<std::vector<SharedMemoryLink>> links(4);
  std::vector<std::thread> members;
  for (std::uint32_t member = 1; member < 4; ++member) {
    members.emplace_back([&, member] {
      Links own = attend(member, bells[member]);
      ASSERT_TRUE(own.has_value()) << own.error().detail;
      links[member] = std::move(*own);
    });
  }
  Links own = meeting_.host(terms_, bells[0], soon());
  for (std::thread& each : members) each.join();
  ASSERT_TRUE(own.has_value()) << own.error().detail;
  links[0] = std::move(*own);
  std::vector<std::unique_ptr<SharedMemoryEndpoint>> endpoints;
  for (std::uint32_t member = 0; member < 4; ++member) {
    ASSERT_EQ(links[member].size(), expected[member].size());
    endpoints.push_back(std::make_unique<SharedMemoryEndpoint>(std::move(bells[member]), kShape,
                                                               std::move(links[member])));
    for (std::uint32_t neighbour = 0; neighbour < endpoints[member]->neighbour_count();
         ++neighbour) {
      endpoints[member]->send(Neighbour{neighbour}, datagram_of(member));
    }
    endpoints[member]->flush();
  }
  for (std::uint32_t member = 0; member < 4; ++member) {
    endpoints[member]->wait(soon());  // returns at once, because the others have rung
    const auto batch = endpoints[member]->receive();
    ASSERT_EQ(batch.size(), endpoints[member]->neighbour_count());
    for (const Received& each : batch) {
      const std::size_t link = static_cast<std::size_t>(each.from) / kShape.channels;
      EXPECT_EQ(number_in(each), expected[member][link]);
    }
  }
}

TEST_F(Meeting, AnotherProcessSharesTheMemory) {
  const pid_t child = fork();
  if (child == 0) {
    Links links = attend(1);
    if (!links) _exit(1);
    SharedMemoryEndpoint endpoint(*Doorbell::open(), kShape, std::move(*links));
    endpoint.send(Neighbour{1}, datagram_of(17));
    endpoint.flush();
    _exit(0);
  }
  Links links = host();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(links.has_value());
  SharedMemoryEndpoint endpoint(*bell_.share(), kShape, std::move(*links));
  const auto batch = endpoint.receive();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(number_in(batch[0]), 17U);
  EXPECT_EQ(batch[0].from, Neighbour{1});
}

// The exponent code of the one block, and its padding, which must be zero.
constexpr std::size_t kPaddedCodeBytes = 4;

// Writes a contribution to the next chunk of one slot, in a random block format.
std::size_t write_contribution(base::Prng& prng, std::uint32_t round, std::span<std::byte> out) {
  core::Header header;
  header.kind = core::Kind::add;
  header.round = round;
  header.contributors = {1, 1, core::rank_digest(0)};
  header.signature.elements = 32;
  const auto format =
      static_cast<std::uint8_t>(prng.between(INFOLD_FORMAT_BFP8, INFOLD_FORMAT_BFP32));
  header.signature.format = format;
  if (prng.below(2) == 0) header.flags = INFOLD_FLAG_SPECIALS;
  core::write_header(header, out);
  const core::ElementLayout layout = header.signature.layout();
  for (std::byte& each : out.subspan(INFOLD_HEADER_BYTES)) {
    each = static_cast<std::byte>(prng.below(256));
  }
  for (std::size_t i = 1; i < kPaddedCodeBytes; ++i) out[INFOLD_HEADER_BYTES + i] = {};
  return core::datagram_bytes(core::Kind::add, layout, 32, false);
}

// Runs in a second process, which sends contributions and goes on writing into datagrams that it
// has sent. It leaves labels, headers and padding alone, because these decide whether the next
// contribution counts.
int send_and_scribble(std::vector<SharedMemoryLink> links, std::uint32_t rounds) {
  constexpr std::size_t kWordsBytes = 256;
  constexpr std::size_t kLabelBytes = 32;
  const std::span<std::byte> own = links.front().queue(false, kShape);
  SharedMemoryEndpoint endpoint(*Doorbell::open(), kShape, std::move(links));
  base::Prng prng(3);
  for (std::uint32_t round = 1; round <= rounds;) {
    const std::span<std::byte> place = endpoint.place();
    if (!place.empty()) {
      endpoint.send(Neighbour{0}, place.first(write_contribution(prng, round, place)));
      endpoint.flush();
      ++round;
    }
    for (int i = 0; i < 20; ++i) {
      const std::size_t drawn = prng.below(256 - INFOLD_HEADER_BYTES);
      const std::size_t at = INFOLD_HEADER_BYTES + (drawn < kPaddedCodeBytes ? 0 : drawn);
      own[kWordsBytes + prng.below(kShape.places) * kShape.place_bytes() + kLabelBytes + at] =
          static_cast<std::byte>(prng.below(256));
    }
  }
  return 0;
}

// The aggregator reads contributions directly in the queue. The sums come out wrong, but nothing
// breaks.
TEST_F(Meeting, AnotherRankMayScribbleWhileItIsRead) {
  constexpr std::uint32_t kRounds = 20'000;
  const pid_t child = fork();
  if (child == 0) {
    Links links = attend(1);
    _exit(links ? send_and_scribble(std::move(*links), kRounds) : 1);
  }
  Links links = host();
  ASSERT_TRUE(links.has_value());
  SharedMemoryEndpoint endpoint(*bell_.share(), kShape, std::move(*links));
  core::AggregatorOptions options;
  options.workers = {{0, 1}};
  options.slot_count = 1;
  core::Aggregator aggregator(options);
  const auto completed = static_cast<std::size_t>(core::Verdict::completed);
  const base::Instant end = soon();
  while (aggregator.counters()[completed] < kRounds && monotonic_now() < end) {
    const auto batch = endpoint.receive();
    for (const Received& each : batch) {
      aggregator.handle_datagram(each.datagram);
      while (const auto answer = aggregator.poll_transmit())
        endpoint.send(Neighbour{0}, answer->datagram);
    }
    endpoint.flush();
    if (batch.empty()) endpoint.wait(end);
  }
  EXPECT_EQ(aggregator.counters()[completed], kRounds);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Meeting, StrangersAndWrongTicketsAreLeftOut) {
  // One process sends garbage, one disconnects, and one has another ticket. Then the right one
  // comes.
  const FileDescriptor noisy = connect_to_it();
  ASSERT_GT(::send(noisy.get(), "hello", 5, 0), 0);
  connect_to_it();
  std::thread other([this] {
    MeetingTerms terms = terms_;
    terms.ticket = 43;
    const auto link =
        SharedMemoryMeeting::attend(meeting_.name(), terms, 1, *Doorbell::open(), soon());
    EXPECT_FALSE(link.has_value());
    EXPECT_TRUE(attend(1).has_value());
  });
  const Links links = host();
  EXPECT_TRUE(links.has_value());
  other.join();
}

TEST_F(Meeting, EndsWithoutAMissingMember) {
  terms_.members = 3;
  std::thread one([this] { EXPECT_FALSE(attend(1).has_value()) << "without the others"; });
  const Links links = host(monotonic_now() + base::milliseconds(200));
  one.join();
  ASSERT_FALSE(links.has_value());
  EXPECT_STREQ(links.error().detail, "some ranks of the host are missing");
}

TEST_F(Meeting, RingsOfAnotherShapeAreRefused) {
  std::thread other([this] {
    MeetingTerms terms = terms_;
    terms.shape.places = 32;
    EXPECT_FALSE(SharedMemoryMeeting::attend(meeting_.name(), terms, 1, *Doorbell::open(), soon()));
  });
  EXPECT_FALSE(host().has_value());
  other.join();
}

TEST(MeetingName, NobodyIsThere) {
  const auto link =
      SharedMemoryMeeting::attend("infold-nobody", {1, kShape}, 1, *Doorbell::open(), soon());
  ASSERT_FALSE(link.has_value());
  EXPECT_STREQ(link.error().detail, "the host's first rank is not there");
}

}  // namespace
}  // namespace infold::io
