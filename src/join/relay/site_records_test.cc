// SPDX-License-Identifier: Apache-2.0
//
// Registries and racks with sites that lack abilities.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/registry/job_registry_testing.h"
#include "join/relay/rack_relay_testing.h"

namespace infold::join::testing {
namespace {

using core::FormatSet;
using core::WireFormat;

// All that core's aggregator can, but for these formats.
core::SiteRecord without(FormatSet formats) {
  core::SiteRecord record;
  record.formats = record.formats - formats;
  return record;
}

TEST_F(Registry, TermsSayWhatTheSitesOfSwitchAndRanksHaveInCommon) {
  plane_.elements = 8192;
  plane_.set_record(without(FormatSet::of(WireFormat::bfp8)));
  Hello own = hello_of(0, 1);
  own.site = SiteAddress{"10.0.0.1:1", 1, true, without(FormatSet::of(WireFormat::i64))};
  own.site->record.elements_max = 1056;
  own.site->record.takes_sparse = false;
  const JobTerms terms = *come(own).ear->terms();
  EXPECT_EQ(terms.formats,
            FormatSet::all() - FormatSet::of(WireFormat::bfp8) - FormatSet::of(WireFormat::i64));
  EXPECT_EQ(terms.elements_max, 1056U);
  ASSERT_EQ(terms.sites.size(), 2U);
  EXPECT_TRUE(terms.sites[0].record.takes_sparse) << "of each site by itself";
  EXPECT_EQ(terms.sites[1].record, own.site->record);
}

TEST_F(Registry, ASiteThatCannotDoTheJobIsNamedToAllAndHoldsNothing) {
  for (const bool verifies : {false, true}) {
    core::SiteRecord record;
    record.verifies_checksums = verifies;
    record.workers_max = 1;
    const Rank first = come(hello_of(0, 2));
    Hello own = hello_of(1, 2);
    own.site = SiteAddress{"10.0.0.1:1", 1, true, record};
    const Rank second = come(own);
    for (const Rank& rank : {first, second}) {
      expect_refused(rank, RefusalReason::invalid,
                     verifies ? "the site at 10.0.0.1:1 takes 1 workers, and the job has 2 there"
                              : "the site at 10.0.0.1:1 does not verify payload checksums");
    }
  }
  EXPECT_THAT(registry_.status(), ::testing::IsEmpty());
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

// Exponents of one byte fit 32 elements; those of f64 need 64, which no integer does.
TEST_F(Registry, PacketsNeedToHoldTheFormatsInUseAlone) {
  plane_.elements = 32;
  plane_.set_record(without(FormatSet::of(WireFormat::bfp8) | FormatSet::of(WireFormat::bfp16) |
                            FormatSet::of(WireFormat::bfp32) | FormatSet::of(WireFormat::i32)));
  EXPECT_TRUE(come(hello_of(0, 1)).ear->terms().has_value());
}

TEST_F(Relay, WhatOneRackLacksNoRankOfTheJobUses) {
  start();
  b_->plane.set_record(without(FormatSet::of(WireFormat::bfp16)));
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  for (const auto& member : members_) {
    EXPECT_EQ(member->link->terms().formats, FormatSet::all() - FormatSet::of(WireFormat::bfp16));
  }
  EXPECT_EQ(members_[0]->link->terms().sites[0].record, a_->plane.sites()[0].record);
  EXPECT_EQ(members_[2]->link->terms().sites[0].record, b_->plane.sites()[0].record);
}

TEST_F(Relay, ARacksSwitchTakesAsManyRanksAsItSaysAndARackIsOneWorkerAbove) {
  start();
  core::SiteRecord two;
  two.workers_max = 2;
  root_->plane.set_record(two);
  b_->plane.set_record(two);
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  for (const auto& member : members_) member->link->leave();
  two.workers_max = 1;
  b_->plane.set_record(two);
  join(two_and_two(), [](Hello& hello) { hello.job = "second"; });
  expect_refused(RefusalReason::invalid,
                 "the rack's switch at rack-b:1 takes 1 workers, and the job has 2 there");
}

// A parent that answers with more than the rack's switch has said it can.
TEST_F(Relay, AParentThatAsksForMoreThanTheRackCanIsRefusedToAll) {
  start();
  join(two_and_two(), [this](Hello& hello) {
    // Between Hello and Joined the rack's switch changes, as no honest one does.
    if (hello.rank != 3) return;
    wait_for([this] {
      return root_->registry.status().size() == 1 && root_->registry.status()[0].ranks == 3;
    });
    a_->plane.set_record(without(FormatSet::of(WireFormat::i8)));
  });
  expect_refused(RefusalReason::invalid, "asks for i8, which the switch at rack-a:1 does not sum");
}

}  // namespace
}  // namespace infold::join::testing
