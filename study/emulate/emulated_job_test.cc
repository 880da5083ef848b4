// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 may announce anything. An emulated job accepts or refuses it, and keeps running.
#include "study/emulate/emulated_job.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "io/host/clock.h"

namespace infold::emulate {
namespace {

join::JobTerms terms_of(std::uint32_t world) {
  join::JobTerms terms;
  terms.job = 3;
  terms.epoch = 5;
  terms.world = world;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = 8192;
  terms.small_slots = 16;
  terms.bulk_slots = 48;
  terms.sites = {{.address = "127.0.0.1:7700"}};
  return terms;
}

EmulatedJob make_job() {
  return {{.ranks = 4, .real = 1, .values = Values::zeros},
          terms_of(4),
          io::monotonic_now(),
          [](Way, std::span<const std::byte>) {}};
}

join::TransferNote usual() {
  return {.layout = {core::WireFormat::bfp32, core::DataType::f32}, .elements = 1000};
}

TEST(EmulatedJob, RefusesTransfersThatNoWorkerTakes) {
  EmulatedJob job = make_job();
  const auto is_taken = [&](const join::CallNote& note) {
    return job.note(io::monotonic_now(), note).has_value();
  };
  EXPECT_TRUE(is_taken(usual()));
  join::TransferNote note = usual();
  note.layout = {core::WireFormat::bfp16, core::DataType::i64};
  EXPECT_FALSE(is_taken(note));
  note = usual();
  note.root = 4;
  EXPECT_FALSE(is_taken(note));
  note = usual();
  note.after = 2;
  EXPECT_FALSE(is_taken(note)) << "the second is not begun yet";
  note.after = 1;
  EXPECT_TRUE(is_taken(note));
  note = usual();
  note.elements = ~std::uint64_t{0};
  EXPECT_FALSE(is_taken(note));

  EXPECT_FALSE(is_taken(join::SizeNote{1, 10})) << "that has its size";
  EXPECT_FALSE(is_taken(join::SizeNote{9, 10}));
  note = usual();
  note.sized_later = true;
  EXPECT_TRUE(is_taken(note));
  EXPECT_TRUE(is_taken(join::SizeNote{3, 10}));
  EXPECT_FALSE(is_taken(join::SizeNote{3, 10})) << "twice";
}

TEST(EmulatedJob, DrawnNotesDoNoHarm) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EmulatedJob job = make_job();
    base::Prng prng(seed);
    std::uint64_t taken = 0;
    for (int i = 0; i < 300; ++i) {
      join::CallNote note = join::SizeNote{prng.below(taken + 3), prng.below(100'000)};
      if (prng.chance(0.8)) {
        note = join::TransferNote{
            .collective = static_cast<core::Collective>(prng.below(4)),
            .reduction = static_cast<core::Reduction>(prng.below(5)),
            .layout = {static_cast<core::WireFormat>(prng.below(8)),
                       static_cast<core::DataType>(prng.below(8))},
            .elements = prng.chance(0.3) ? prng.next() >> prng.below(64) : prng.below(5000),
            .root = static_cast<std::uint16_t>(prng.below(5)),
            .encoding = static_cast<std::uint16_t>(prng.chance(0.5) ? prng.next() : 0),
            .priority = static_cast<core::Priority>(prng.below(3)),
            .after = prng.chance(0.3) ? prng.below(taken + 2) : 0,
            .sized_later = prng.chance(0.2),
            .has_codes = prng.chance(0.1)};
      }
      const bool is_transfer = std::holds_alternative<join::TransferNote>(note);
      if (job.note(io::monotonic_now(), note) && is_transfer) ++taken;
    }
    EXPECT_EQ(job.counters().transfers, taken);
    EXPECT_GT(taken, 50U);
    job.end(io::monotonic_now(), {core::AbortReason::lost, 0, 0, {}, {}});
    EXPECT_TRUE(job.note(io::monotonic_now(), join::SizeNote{77, 1}).has_value());
  }
}

}  // namespace
}  // namespace infold::emulate
