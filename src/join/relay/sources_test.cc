// SPDX-License-Identifier: Apache-2.0
//
// Where the packets of ranks and racks come from, as their connections vouch, on its way to
// the planes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/client/job_answers.h"
#include "join/messages/record_message.h"
#include "join/relay/rack_relay_testing.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

io::SocketAddress host(const char* text) { return *io::SocketAddress::parse_host(text, "test"); }

std::vector<std::string> texts(const std::vector<io::SocketAddress>& sources) {
  std::vector<std::string> list;
  for (const io::SocketAddress& each : sources) {
    list.push_back(each.is_set() ? each.host_text() : "anywhere");
  }
  return list;
}

v1::Hello hello_with(const std::string& source) {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_job("job");
  hello.set_world(2);
  hello.set_datagram_bytes_max(1472);
  hello.set_bulk_slots(448);
  hello.set_source(source);
  return hello;
}

TEST(Sources, AreTheConnectionsUnlessTheRankSaysAnother) {
  const auto from = *io::SocketAddress::parse("10.0.0.5:4000", "test");
  const auto source_of = [&](const std::string& said) {
    return parse_hello(hello_with(said), "10.0.0.5", from)->source.host_text();
  };
  EXPECT_EQ(source_of(""), "10.0.0.5");
  EXPECT_EQ(source_of("10.0.1.5"), "10.0.1.5");
  EXPECT_EQ(source_of("fd00::5"), "fd00::5");
  EXPECT_EQ(source_of("::ffff:10.0.2.5"), "10.0.2.5");
  EXPECT_FALSE(parse_hello(hello_with(""), "")->source.is_set());
}

TEST(Sources, ThatAreNoHostAreRefused) {
  const std::vector<std::string> all = {
      "0.0.0.0",   "::",   "224.0.0.1",           "ff02::1",    "rank.example", "10.0.0.1:7700",
      "[fd00::1]", "a\nb", std::string(300, '1'), "10.0.0.1]:1"};
  for (const std::string& said : all) {
    const Answer<Hello> parsed = parse_hello(hello_with(said), "");
    ASSERT_FALSE(parsed.has_value()) << said;
    EXPECT_EQ(parsed.error().reason, RefusalReason::invalid);
    EXPECT_THAT(parsed.error().message, ::testing::HasSubstr("no host's address")) << said;
    v1::Hello of_rack = hello_with("");
    of_rack.mutable_rack()->set_identity("life");
    of_rack.mutable_rack()->set_sites(1);
    *of_rack.mutable_rack()->mutable_record() = message_of(core::SiteRecord());
    of_rack.mutable_rack()->set_source(said);
    EXPECT_FALSE(parse_hello(of_rack, "").has_value()) << said;
  }
}

JobTerms terms_with(const SiteAddress& site) {
  JobTerms terms;
  terms.world = 2;
  terms.job = 7;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = 8192;
  terms.bulk_slots = 448;
  terms.formats = core::FormatSet::all();
  terms.sites = {site};
  return terms;
}

TEST(Sources, GoToThosePartiesThatAggregate) {
  JobTerms terms = terms_with({"10.0.0.1:7700", 1});
  terms.rank_sources = {host("10.0.0.5"), {}};
  EXPECT_EQ(reply_of(terms).joined().rank_sources_size(), 0) << "the switch alone needs them";
  terms.sites.push_back({"10.0.0.5:9000", 1, true});
  const v1::JoinReply reply = reply_of(terms);
  const Answer<JobTerms> heard = terms_of(reply.joined(), hello_of(0, 2), "host");
  ASSERT_TRUE(heard.has_value()) << heard.error().message;
  EXPECT_THAT(texts(heard->rank_sources), ElementsAre("10.0.0.5", "anywhere"));
}

TEST(Sources, ThatAHostTellsWrongAreNamed) {
  JobTerms terms = terms_with({"10.0.0.5:9000", 1, true});
  terms.rank_sources = {host("10.0.0.5"), host("fd00::6")};
  v1::JoinReply reply = reply_of(terms);
  ASSERT_TRUE(terms_of(reply.joined(), hello_of(0, 2), "host").has_value());
  EXPECT_THAT(terms_of(reply.joined(), hello_of(0, 3), "host").error().message,
              ::testing::HasSubstr("rank_sources of 2 ranks; the job has 3"));
  for (const char* const wrong : {"somewhere", "0.0.0.0", "10.0.0.5:1", "\x01"}) {
    reply.mutable_joined()->set_rank_sources(1, wrong);
    EXPECT_THAT(terms_of(reply.joined(), hello_of(0, 2), "host").error().message,
                ::testing::HasSubstr("rank_sources[1]"));
  }
}

TEST_F(Relay, PlanesHearWhereRanksAndRacksAre) {
  root_ = std::make_unique<Root>(1);
  a_ = std::make_unique<Leaf>(root_->address(), "rack-a:1", 1);
  b_ = std::make_unique<Leaf>(root_->address(), "rack-b:1", 1, host("127.0.0.9"));
  std::vector<std::string> places = two_and_two();
  places.push_back(root_->address());
  join(places,
       [](Hello& own) { own.source = own.rank == 3 ? host("127.0.0.4") : host("127.0.0.1"); });
  ASSERT_TRUE(all_joined());
  const JobTerms above = root_->plane.started().at(0);
  EXPECT_THAT(texts(above.rack_sources), ElementsAre("127.0.0.1", "127.0.0.9"));
  EXPECT_EQ(texts(above.rank_sources).at(4), "127.0.0.1");
  const JobTerms below = b_->plane.started().at(0);
  EXPECT_EQ(texts(below.rank_sources).at(2), "127.0.0.1");
  EXPECT_EQ(texts(below.rank_sources).at(3), "127.0.0.4");
}

// Ranks of the same process have no connection, and their packets come from anywhere.
TEST(Sources, AreAnywhereForRanksOfThisProcess) {
  FakePlane plane(1);
  JobRegistry registry(&plane, {.has_threads = false});
  std::vector<std::shared_ptr<Ear>> ears;
  std::vector<Registrar::Entry> entries;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ears.push_back(std::make_shared<Ear>());
    entries.push_back(registry.enter(hello_of(rank, 2), ears.back()));
  }
  registry.work();
  for (const Registrar::Entry entry : entries) registry.ready(entry, {});
  registry.work();
  ASSERT_EQ(plane.started().size(), 1U);
  EXPECT_THAT(texts(plane.started()[0].rank_sources), ElementsAre("anywhere", "anywhere"));
  EXPECT_THAT(plane.started()[0].rack_sources, IsEmpty());
}

}  // namespace
}  // namespace infold::join::testing
