// SPDX-License-Identifier: Apache-2.0
#include "join/client/job_answers.h"

#include <functional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/stripe.h"
#include "core/world.h"
#include "join/client/answer_reader.h"
#include "join/client/job_answers_testing.h"
#include "join/registry/testing.h"
#include "join/service/replies.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

const std::string kHost = "10.0.0.1:7700";
constexpr std::size_t kMeetingBytes = 64;

TEST(Answers, HonestTermsAreTaken) {
  const auto terms = terms_of(joined_reply().joined(), hello_of(0, 4), kHost);
  ASSERT_TRUE(terms.has_value()) << terms.error().message;
  EXPECT_EQ(terms->job, 7);
  EXPECT_EQ(terms->world, 4U);
  EXPECT_EQ(terms->sites.size(), 3U);
  EXPECT_EQ(terms->groups.size(), 1U);
  EXPECT_EQ(terms->racks.size(), 1U);
}

// All ranks of the largest world have long addresses, four to a host and 64 to a rack.
TEST(Answers, TheTermsOfTheLargestWorldAreTaken) {
  JobTerms terms = *terms_of(joined_reply().joined(), hello_of(0, 4), kHost);
  terms.world = core::kWorldMax;
  const SiteAddress site = terms.sites.front();
  terms.sites.assign(core::Stripe::kSitesMax, site);
  terms.groups.clear();
  terms.racks.clear();
  terms.rank_sources.clear();
  for (std::uint16_t rank = 0; rank < core::kWorldMax; ++rank) {
    const std::string address =
        fmt::format("2001:db8:1111:2222:3333:4444:5555:{:04x}", 4096 + rank);
    terms.rank_sources.push_back(*io::SocketAddress::parse_host(address, "a source"));
    if (rank % 4 == 0) terms.groups.push_back({{rank, 4}, std::string(kMeetingBytes, 'm')});
    if (rank % 64 == 0) terms.racks.push_back({rank, 64});
  }
  const v1::JoinReply reply = reply_of(terms);
  EXPECT_LT(reply.ByteSizeLong(), std::size_t{kAnswerBytesMax} / 2);
  const auto taken = terms_of(reply.joined(), hello_of(0, core::kWorldMax), kHost);
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  EXPECT_EQ(taken->rank_sources, terms.rank_sources);
  EXPECT_EQ(taken->racks.size(), 16U);
}

// A change that no honest host makes, and a part of the error's text.
struct Misfit {
  const char* name;
  std::function<void(v1::Joined&)> spoil;
  const char* says;
};

class SpoiltTerms : public ::testing::TestWithParam<Misfit> {};

TEST_P(SpoiltTerms, AreRefusedByHostAndField) {
  v1::JoinReply reply = joined_reply();
  GetParam().spoil(*reply.mutable_joined());
  const auto terms = terms_of(reply.joined(), hello_of(0, 4), kHost);
  ASSERT_FALSE(terms.has_value());
  EXPECT_EQ(terms.error().reason, RefusalReason::broken);
  EXPECT_THAT(terms.error().message, HasSubstr("10.0.0.1:7700 answered Joined."));
  EXPECT_THAT(terms.error().message, HasSubstr(GetParam().says));
}

v1::HostGroup group_of(std::uint32_t first, std::uint32_t count, const std::string& meeting) {
  v1::HostGroup group;
  group.set_first(first);
  group.set_count(count);
  group.set_meeting(meeting);
  return group;
}

void add_rack(v1::Joined& joined, std::uint32_t first, std::uint32_t count) {
  joined.add_racks()->set_first(first);
  joined.mutable_racks()->rbegin()->set_count(count);
}

const Misfit kMisfits[] = {
    {"Job", [](auto& j) { j.set_job(65'536); }, "job of 65536; allowed: 0 to 65535"},
    {"LongDatagrams", [](auto& j) { j.set_datagram_bytes_max(1473); },
     "datagram_bytes_max of 1473; allowed: 0 to 1472"},
    {"ShortDatagrams", [](auto& j) { j.set_datagram_bytes_max(300); },
     "datagram_bytes_max of 300 and elements_max of 8192, which hold no block"},
    {"NoElements", [](auto& j) { j.set_elements_max(0); }, "elements_max of 0, which hold no"},
    {"OneElement", [](auto& j) { j.set_elements_max(1); }, "elements_max of 1, which hold no"},
    {"HalfABlock", [](auto& j) { j.set_elements_max(32); }, "elements_max of 32, which hold no"},
    {"ManyElements", [](auto& j) { j.set_elements_max(8193); }, "elements_max of 8193; allowed"},
    {"NoFormats", [](auto& j) { j.clear_formats(); }, "formats of 0x0, none of which"},
    {"OtherFormats", [](auto& j) { j.set_formats(0x100); }, "formats of 0x100, none of which"},
    {"NoRecord", [](auto& j) { j.mutable_sites(1)->clear_record(); },
     "sites[1] with no record of what it can, as older versions have none"},
    {"EmptyRecord", [](auto& j) { j.mutable_sites(0)->mutable_record()->Clear(); },
     "sites[0] with formats of 0x0, none of which"},
    {"ElementsOfASite", [](auto& j) { j.mutable_sites(2)->mutable_record()->set_elements_max(64); },
     "sites[2] that sums 64 elements of a chunk, in a job with elements_max of 8192"},
    {"FormatOfASite", [](auto& j) { j.mutable_sites(0)->mutable_record()->set_formats(0xEF); },
     "sites[0] that does not sum bfp8, which the job uses"},
    {"NativeTypeOfASite",
     [](auto& j) {
       j.set_native_types(0x9);
       j.mutable_sites(0)->mutable_record()->set_formats(0x7F);
       j.mutable_sites(0)->mutable_record()->set_native_types(0x7);
       j.set_formats(0x7F);
     },
     "sites[0] that sums native elements of types 0x7, in a job with native_types of 0x9"},
    {"NoSlots",
     [](auto& j) {
       j.set_small_slots(0);
       j.set_bulk_slots(0);
     },
     "small_slots and bulk_slots together of 0; allowed: 1"},
    {"SmallSlots", [](auto& j) { j.set_small_slots(65); }, "small_slots of 65; allowed: 0 to 64"},
    {"BulkSlots", [](auto& j) { j.set_bulk_slots(~0U); }, "bulk_slots of 4294967295; allowed"},
    {"NoSites", [](auto& j) { j.clear_sites(); }, "sites: 0 of them; allowed: 1 to 64"},
    {"ManySites",
     [](auto& j) {
       while (j.sites_size() < 65) *j.add_sites() = j.sites(1);
     },
     "sites: 65 of them; allowed: 1 to 64"},
    {"Weight", [](auto& j) { j.mutable_sites(2)->set_weight(65); }, "sites[2].weight of 65"},
    {"NoAddress", [](auto& j) { j.mutable_sites(0)->clear_address(); }, "sites[0].address has no"},
    {"AName", [](auto& j) { j.mutable_sites(1)->set_address("example.org:1"); },
     "sites[1].address 'example.org:1' is not a numeric address"},
    {"NoPort", [](auto& j) { j.mutable_sites(1)->set_address("10.0.0.1"); }, "has no port; write"},
    {"PortZero", [](auto& j) { j.mutable_sites(0)->set_address(":0"); }, "':0' has no port"},
    {"AnyAddress", [](auto& j) { j.mutable_sites(1)->set_address("0.0.0.0:5"); }, "is no host's"},
    {"HostBehindRank", [](auto& j) { *j.add_sites() = j.sites(0); }, "sites[3] of a host behind"},
    {"GroupOfOne", [](auto& j) { *j.mutable_groups(0) = group_of(0, 1, "m"); },
     "groups[0] of 1 ranks from 0 on"},
    {"GroupOutside", [](auto& j) { *j.mutable_groups(0) = group_of(3, 2, "m"); },
     "groups[0] of 2 ranks from 3 on; the job has 4"},
    {"GroupThatWraps", [](auto& j) { *j.mutable_groups(0) = group_of(1, ~0U, "m"); },
     "groups[0] of 4294967295 ranks"},
    {"GroupsOverlap", [](auto& j) { *j.add_groups() = group_of(1, 2, "m"); },
     "groups[1] of 2 ranks from 1 on; the job has 4, rank 2 is the next free one"},
    {"NoMeeting", [](auto& j) { *j.mutable_groups(0) = group_of(0, 2, ""); },
     "groups[0].meeting of 0 bytes"},
    {"LongMeeting", [](auto& j) { *j.mutable_groups(0) = group_of(0, 2, std::string(108, 'm')); },
     "groups[0].meeting of 108 bytes; allowed: 1 to 107"},
    {"EmptyRack", [](auto& j) { j.mutable_racks(0)->set_count(0); }, "racks[0] of 0 ranks"},
    {"RackOutside", [](auto& j) { j.mutable_racks(0)->set_count(5); }, "racks[0] of 5 ranks"},
    {"RacksOverlap", [](auto& j) { add_rack(j, 2, 1); }, "racks[1] of 1 ranks from 2 on"},
    {"GroupInTwoRacks",
     [](auto& j) {
       j.mutable_racks(0)->set_count(1);
       add_rack(j, 1, 3);
     },
     "groups[0] with ranks 0 and 1 in different racks"},
    {"GroupHalfInARack", [](auto& j) { j.mutable_racks(0)->set_count(1); },
     "groups[0] with ranks 0 and 1 in different racks"},
};

INSTANTIATE_TEST_SUITE_P(Fields, SpoiltTerms, ::testing::ValuesIn(kMisfits),
                         [](const auto& each) { return each.param.name; });

TEST(Answers, ARanksOwnSiteMustBeAmongThem) {
  Hello own = hello_of(0, 4);
  own.site = SiteAddress{"127.0.0.1:9000", 1, true};
  v1::JoinReply reply = joined_reply();
  EXPECT_TRUE(terms_of(reply.joined(), own, kHost).has_value());
  own.site->address = "127.0.0.1:9002";
  EXPECT_THAT(terms_of(reply.joined(), own, kHost).error().message,
              HasSubstr("this rank's own, 127.0.0.1:9002, is there 0 times"));
  own.site->address = "127.0.0.1:9000";
  *reply.mutable_joined()->add_sites() = reply.joined().sites(1);
  EXPECT_THAT(terms_of(reply.joined(), own, kHost).error().message, HasSubstr("there 2 times"));
}

TEST(Answers, ARankOfARackIsInOne) {
  Hello own = hello_of(3, 4);
  own.rack = RackHello{"life", "10.0.0.2:1", 1};
  EXPECT_THAT(terms_of(joined_reply().joined(), own, kHost).error().message,
              HasSubstr("racks without rank 3"));
  own.rank = 2;
  EXPECT_TRUE(terms_of(joined_reply().joined(), own, kHost).has_value());
}

// An AnswerReader that has heard the terms and said whether it shares memory.
AnswerReader reader_of(bool shares_memory) {
  AnswerReader reader(hello_of(0, 4), kHost);
  EXPECT_TRUE(std::holds_alternative<JobTerms>(*reader.read(joined_reply())));
  reader.note_ready(shares_memory);
  return reader;
}

std::string refusal_text(const std::optional<Heard>& heard) {
  const Refusal* const refusal = heard ? std::get_if<Refusal>(&*heard) : nullptr;
  return refusal == nullptr ? "no refusal" : refusal->message;
}

TEST(Answers, GroupsInUseAreSomeOfThoseProposed) {
  v1::JoinReply go;
  *go.mutable_go()->add_groups() = joined_reply().joined().groups(0);
  AnswerReader shares = reader_of(true);
  const auto heard = shares.read(go);
  ASSERT_TRUE(std::holds_alternative<Go>(*heard)) << refusal_text(heard);
  EXPECT_THAT(refusal_text(reader_of(false).read(go)), HasSubstr("rank 0, which shares no memory"));
  go.mutable_go()->mutable_groups(0)->set_meeting("other");
  EXPECT_THAT(refusal_text(reader_of(true).read(go)), HasSubstr("which was not proposed"));
}

TEST(Answers, ComeInTheirOrder) {
  AnswerReader first(hello_of(0, 4), kHost);
  EXPECT_THAT(refusal_text(first.read(go_reply())),
              HasSubstr("10.0.0.1:7700 answered Go where Joined comes next"));
  EXPECT_FALSE(first.read(joined_reply()).has_value()) << "it is over";
  AnswerReader unasked(hello_of(0, 4), kHost);
  unasked.read(joined_reply());
  EXPECT_THAT(refusal_text(unasked.read(go_reply())), HasSubstr("before this rank was ready"));
  EXPECT_THAT(refusal_text(reader_of(true).read(joined_reply())),
              HasSubstr("answered Joined where Go comes next"));
  EXPECT_THAT(refusal_text(reader_of(true).read({})),
              HasSubstr("a message that this version does not know"));
}

TEST(Answers, AJobThatRunsEndsWithWhateverComes) {
  for (const v1::JoinReply& reply : {joined_reply(), go_reply(), v1::JoinReply()}) {
    AnswerReader reader = reader_of(true);
    reader.read(go_reply());
    ASSERT_TRUE(reader.is_running());
    const auto heard = reader.read(reply);
    ASSERT_TRUE(heard && std::holds_alternative<JobEnd>(*heard));
    EXPECT_FALSE(std::get<JobEnd>(*heard).lost_rank.has_value());
    EXPECT_FALSE(reader.end("").has_value()) << "told already";
  }
}

TEST(Answers, NoRankOutsideTheJobIsLost) {
  v1::Ended ended;
  ended.set_reason(v1::Ended::RANK_LOST);
  ended.set_rank(4);
  EXPECT_FALSE(heard_end(ended, 4).lost_rank.has_value());
  EXPECT_TRUE(heard_end(ended, 5).lost_rank.has_value());
}

TEST(Answers, TextIsSafeToPrint) {
  v1::Refused refused;
  refused.set_message(std::string("\x1b[2Jgone\n") + std::string(5000, 'x'));
  refused.set_rank(99);
  const Refusal refusal = heard_refusal(refused, 4);
  EXPECT_EQ(refusal.message.substr(0, 9), "?[2Jgone\n");
  EXPECT_EQ(refusal.message.size(), 2048U);
  EXPECT_EQ(refusal.rank, -1);
  v1::Ended ended;
  ended.set_reason(v1::Ended::SWITCH_LOST);
  ended.set_address("10.0.0.1\u009b2J\u202e");
  EXPECT_EQ(heard_end(ended, 4).lost_switch, "10.0.0.1?2J?");
}

}  // namespace
}  // namespace infold::join::testing
