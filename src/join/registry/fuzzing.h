// SPDX-License-Identifier: Apache-2.0
//
// For fuzzers of registries: choices made from bytes, a plane and listeners that check what must
// hold whatever ranks say, and requests that are nearly valid.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "join/job_plan.h"
#include "join/job_terms.h"
#include "join/rank_listener.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/service/parse_request.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join::fuzzing {

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool are_left() const { return !bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
  template <std::size_t N>
  std::uint32_t of(const std::array<std::uint32_t, N>& values) {
    return values[below(N)];
  }
  std::span<const std::uint8_t> some() {
    const std::size_t wanted = byte();
    const auto taken = bytes_.first(std::min(wanted, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// Checks that a job starts only under a number that no living job has, with terms that fit an
// aggregator.
class CheckedPlane final : public Plane {
 public:
  std::vector<SiteAddress> sites() const override { return {{":7700", 0}, {":7701", 0}}; }
  std::uint32_t slots_total() const override { return 1024; }
  std::uint32_t jobs_max() const override { return 4; }
  std::uint32_t datagram_bytes_max() const override { return 8972; }
  Answer<void> start_job(const JobTerms& terms) override {
    check_terms(terms);
    if (while_starting) while_starting();
    const int how = std::exchange(next_start, 0);
    if (how == 1) return tl::unexpected(Refusal{RefusalReason::full, "no room", -1});
    // Throws, like an allocation that fails.
    if (how == 2) std::vector<std::uint64_t>().reserve(~std::size_t{0});
    CHECK(living.insert(terms.job).second);
    return {};
  }
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override {
    CHECK(living.contains(job));
    return abort;
  }
  void forget_job(std::uint16_t job) override { CHECK(living.erase(job) == 1); }

  static void check_terms(const JobTerms& terms) {
    CHECK(terms.job != 0);
    CHECK(terms.small_slots + terms.bulk_slots > 0);
    CHECK(terms.small_slots + terms.bulk_slots < 0xFFFF);
    CHECK(terms.datagram_bytes_max >= 512);
    CHECK(!terms.formats.is_empty());
    CHECK(plan::holds_all_layouts(
        {terms.datagram_bytes_max, terms.elements_max, !terms.racks.empty()}, terms.formats));
    CHECK(!terms.sites.empty());
    CHECK(terms.sites.size() <= 64);
    for (const SiteAddress& site : terms.sites) {
      CHECK(site.weight <= 64);
      CHECK(terms.elements_max <= site.record.elements_max);
      CHECK((terms.formats - site.record.formats).is_empty());
      CHECK(site.record.verifies_checksums);
    }
    check_sources(terms.rank_sources, terms.world);
    check_sources(terms.rack_sources, terms.racks.size());
    const plan::Tree tree = tree_of(terms);
    const std::size_t workers = tree.aggregators.front().children.size();
    CHECK(workers > 0);
    CHECK(workers <= INFOLD_WORKERS_MAX);
    for (std::uint16_t rank = 0; rank < terms.world; ++rank) {
      static_cast<void>(plan::position_of(tree, rank));
    }
  }

  // There is one source for each rank or rack, or none at all. A packet can come from every source
  // that is set.
  static void check_sources(const std::vector<io::SocketAddress>& sources, std::size_t count) {
    CHECK(sources.empty() || sources.size() == count);
    for (const io::SocketAddress& each : sources) {
      CHECK(!each.is_set() || (!each.is_any() && !each.is_multicast()));
    }
  }

  std::set<std::uint16_t> living;
  int next_start = 0;  // 1: the next start is refused, 2: its memory is missing
  std::function<void()> while_starting;
};

// Checks that calls come in the order of rank_listener.h, with exactly one last call.
class CheckedEar final : public RankListener {
 public:
  CheckedEar() = default;
  // For a rank whose terms must name its source.
  explicit CheckedEar(const Hello& hello) : own_({hello.rank, hello.source}) {}
  void all_here(const JobTerms& terms) override {
    CHECK(step_ == Step::waits);
    CheckedPlane::check_terms(terms);
    CHECK(!own_ || terms.rank_sources.at(own_->rank).is_same_host(own_->source));
    step_ = Step::here;
  }
  void all_ready(const std::vector<HostGroup>&) override {
    CHECK(step_ == Step::here);
    step_ = Step::ready;
  }
  void refused(const Refusal& refusal) override {
    CHECK(step_ == Step::waits || step_ == Step::here);
    CHECK(!refusal.message.empty());
    step_ = Step::over;
  }
  void ended(const JobEnd&) override {
    CHECK(step_ == Step::ready);
    step_ = Step::ended;
  }
  void dismissed() override {
    CHECK(step_ != Step::over);
    step_ = Step::over;
  }
  bool is_over() const { return step_ == Step::over; }
  bool waits() const { return step_ == Step::waits || step_ == Step::here; }

 private:
  enum class Step : std::uint8_t { waits, here, ready, ended, over };
  struct Own {
    std::uint32_t rank;
    io::SocketAddress source;
  };
  const std::optional<Own> own_;
  Step step_ = Step::waits;
};

// Most records are of a site that can do everything, and nearly all of a site that can do
// something.
inline v1::SiteRecord record_from(Choices& choices) {
  v1::SiteRecord record;
  record.set_formats(choices.of<5>({0x7F, 0x7F, 0x04, 0x180, ~0U}));
  record.set_elements_max(choices.of<5>({1056, 8192, 32, 1, ~0U}));
  record.set_workers_max(choices.of<4>({256, ~0U, 2, 0}));
  const std::uint8_t has = choices.byte();
  record.set_takes_sparse((has & 1) != 0);
  record.set_verifies_checksums((has & 6) != 6);
  record.set_pending_forms(has >> 5);
  if ((has & 0x18) == 0x18) {
    record.set_formats_big_endian(record.formats());
    record.clear_formats();
    record.set_reductions_lacking(0x14);
  }
  return record;
}

// Where a rank says that its packets come from. A few of these cannot be the address of a host.
inline const char* source_from(std::uint32_t choice) {
  constexpr std::array<const char*, 16> kSources = {
      "",           "10.0.0.5", "", "fd00::5", "::ffff:10.0.2.5", "10.0.0.6", "0.0.0.0",
      "fd00::6",    "10.0.0.5", "", "::1",     "127.0.0.1",       "ff02::1",  "",
      "10.0.0.5:7", "10.0.0.7"};
  return kSources[choice % kSources.size()];
}

// What the rank's token permits, if it has one; two tokens with limits that jobs can reach.
inline std::optional<keys::Grant> grant_from(Choices& choices) {
  const std::uint32_t drawn = choices.below(8);
  if (drawn >= 4) return std::nullopt;
  return keys::Grant{.id = 1 + drawn % 2,
                     .ranks_max = drawn < 2 ? 6 : keys::Grant::kUnlimited,
                     .slots_max = drawn % 2 == 0 ? 600 : keys::Grant::kUnlimited};
}

inline v1::Hello hello_from(Choices& choices) {
  v1::Hello hello;
  hello.set_protocol_version(1);
  hello.set_job(choices.below(2) == 0 ? "a" : "b");
  const std::uint8_t world = choices.byte();  // also chooses where the rack's packets come from
  const std::uint8_t rank = choices.byte();   // also chooses where the rank's packets come from
  hello.set_world(1 + world % 4);
  hello.set_rank(rank % 4);
  hello.set_source(source_from(rank / 4));
  hello.set_datagram_bytes_max(choices.of<4>({1472, 512, 65'507, 100}));
  hello.set_small_slots(choices.of<6>({64, 0, 1, 64, 30'000, 70'000}));
  hello.set_bulk_slots(choices.of<6>({448, 0, 1, 448, 30'000, 70'000}));
  hello.set_patience_ms(choices.of<5>({20'000, 0, 10, 1'000, 0xFFFFFFFF}));
  hello.set_takes_brief(world / 4 % 2 == 0);
  const std::uint8_t has = choices.byte();
  if ((has & 1) != 0) {
    hello.set_site_address((has & 2) != 0 ? "10.0.0.1:700" : "nowhere:1");
    hello.set_site_weight(choices.below(70));
    if ((has & 128) == 0) *hello.mutable_site_record() = record_from(choices);
  }
  if ((has & 4) != 0) {
    hello.set_host_identity((has & 8) != 0 ? "x" : "y");
    hello.set_host_meeting("meet");
    hello.set_always_shares((has & 16) != 0);
  }
  if ((has & 32) != 0) {
    v1::RackSwitch& rack = *hello.mutable_rack();
    rack.set_identity((has & 64) != 0 ? "rack-1" : "rack-2");
    rack.set_address("rack:1");
    rack.set_sites(choices.below(3));
    rack.set_source(source_from(world / 4));
    if ((has & 128) == 0) *rack.mutable_record() = record_from(choices);
  }
  return hello;
}

inline v1::Ready ready_from(Choices& choices) {
  v1::Ready ready;
  const std::uint8_t has = choices.byte();
  ready.set_shares_memory((has & 1) != 0);
  ready.set_site_order(has & 6);
  if ((has & 8) != 0) ready.set_verifies((has & 16) != 0);
  if ((has & 32) != 0) ready.mutable_obstacle()->set_message("an obstacle");
  ready.set_calls_finished(has >> 7);
  return ready;
}

inline v1::Leave leave_from(Choices& choices) {
  v1::Leave leave;
  const std::uint8_t has = choices.byte();
  if ((has & 1) != 0) {
    const auto bytes = choices.some();
    leave.set_abort(bytes.data(), bytes.size());
  }
  if ((has & 2) != 0) {
    leave.mutable_why()->set_message("why");
    leave.mutable_why()->set_rank(has);
  }
  return leave;
}

// A stream on which a rank may have sent a hello.
struct DrawnRank {
  Registrar::Entry entry{};
  std::shared_ptr<CheckedEar> ear;  // null: it has sent no hello
};

// These make a rank's later messages, and parse them in the same way as a server's streams do. If
// no rank is there to send a message, they still use up its bytes.
inline void say_ready(Registrar& registrar, Choices& choices, const DrawnRank& rank) {
  const auto report = parse_ready(ready_from(choices));
  if (report && rank.ear) registrar.ready(rank.entry, *report);
}
inline void say_leave(Registrar& registrar, Choices& choices, const DrawnRank& rank) {
  const auto parting = parse_leave(leave_from(choices));
  if (parting && rank.ear) registrar.leave(rank.entry, *parting);
}

// Breaks every stream that is still open.
template <typename Ranks>
void lose_all(Registrar& registrar, const Ranks& ranks) {
  for (const DrawnRank& rank : ranks) {
    if (rank.ear) registrar.leave(rank.entry, Parting::lost);
  }
}

}  // namespace infold::join::fuzzing
