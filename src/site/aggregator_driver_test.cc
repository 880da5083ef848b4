// SPDX-License-Identifier: Apache-2.0
//
// Tests a leaf over memory. Every rank has a link of its own and cannot send in another rank's
// name.
#include "site/aggregator_driver.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/memory_endpoint.h"

namespace infold::site {
namespace {

constexpr io::MemoryEndpointOptions kEndpoint;

class Leaf : public ::testing::Test {
 protected:
  Leaf() : rank0_(kEndpoint), rank1_(kEndpoint), parent_(kEndpoint) {
    auto endpoint = std::make_unique<io::MemoryEndpoint>(kEndpoint);
    AggregatorDriver::Node node;
    node.options.epoch = 9;
    node.options.world = 4;
    node.options.workers = {{0, 1}, {1, 1}};
    node.options.parent_worker = 0;
    for (io::MemoryEndpoint* const rank : {&rank0_, &rank1_}) {
      node.workers.push_back(io::MemoryEndpoint::connect(*rank, *endpoint).second);
    }
    node.parent = io::MemoryEndpoint::connect(parent_, *endpoint).second;
    driver_ = std::make_unique<AggregatorDriver>(std::vector{node}, std::move(endpoint));
  }

  static std::vector<std::byte> packet(core::Kind kind, std::uint8_t worker) {
    core::Header header;
    header.kind = kind;
    header.worker = worker;
    header.epoch = 9;
    header.round = 1;
    header.signature.elements = 1;
    header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
    header.contributors = core::contributors_of({worker, 1});
    if (kind == core::Kind::result) header.contributors = core::contributors_of({0, 4});
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + sizeof(std::int32_t));
    core::write_header(header, datagram);
    return datagram;
  }

  // Returns the kind of the next packet that arrives at an endpoint.
  static core::Kind next_at(io::MemoryEndpoint& endpoint) {
    const base::Instant end = io::monotonic_now() + base::seconds(10);
    while (io::monotonic_now() < end) {
      for (const io::Received& received : endpoint.receive()) {
        core::Packet packet;
        EXPECT_EQ(core::parse(received.datagram, packet), core::Malformed::none);
        return packet.header.kind;
      }
      endpoint.wait(end);
    }
    ADD_FAILURE() << "nothing came";
    return core::Kind::aborted;
  }

  std::uint64_t count_of(core::Verdict verdict) {
    return driver_->verdicts()[static_cast<std::size_t>(verdict)];
  }

  io::MemoryEndpoint rank0_;
  io::MemoryEndpoint rank1_;
  io::MemoryEndpoint parent_;
  std::unique_ptr<AggregatorDriver> driver_;
};

TEST_F(Leaf, TakesResultsFromTheParentsLinkAlone) {
  rank0_.send(io::Neighbour{0}, packet(core::Kind::add, 0));
  rank1_.send(io::Neighbour{0}, packet(core::Kind::add, 1));
  EXPECT_EQ(next_at(parent_), core::Kind::add);
  rank1_.send(io::Neighbour{0}, packet(core::Kind::result, 0));
  rank1_.send(io::Neighbour{0}, packet(core::Kind::add, 1));  // a repeat makes the sum go up again
  EXPECT_EQ(next_at(parent_), core::Kind::add);
  EXPECT_EQ(count_of(core::Verdict::dropped_wrong_way), 1U);
  EXPECT_EQ(count_of(core::Verdict::delivered), 0U);

  parent_.send(io::Neighbour{0}, packet(core::Kind::result, 0));
  EXPECT_EQ(next_at(rank0_), core::Kind::result);
  EXPECT_EQ(next_at(rank1_), core::Kind::result);
}

TEST_F(Leaf, TakesNoContributionFromAnotherRanksLinkOrTheParents) {
  rank0_.send(io::Neighbour{0}, packet(core::Kind::add, 0));
  rank0_.send(io::Neighbour{0}, packet(core::Kind::add, 1));
  parent_.send(io::Neighbour{0}, packet(core::Kind::add, 1));
  rank0_.send(io::Neighbour{0}, packet(core::Kind::add, 0));
  EXPECT_EQ(next_at(rank0_), core::Kind::pending);
  rank1_.send(io::Neighbour{0}, packet(core::Kind::add, 1));
  EXPECT_EQ(next_at(parent_), core::Kind::add);
  EXPECT_EQ(count_of(core::Verdict::dropped_bad_worker), 1U);
  EXPECT_EQ(count_of(core::Verdict::dropped_wrong_way), 1U);
  EXPECT_EQ(count_of(core::Verdict::contributed), 1U);
}

}  // namespace
}  // namespace infold::site
