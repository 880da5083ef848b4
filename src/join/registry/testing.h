// SPDX-License-Identifier: Apache-2.0
//
// For tests of the join server: a plane and listeners that record their calls, and the hellos of
// ranks.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/rank_listener.h"
#include "join/registry/plane.h"

namespace infold::join::testing {

class FakePlane final : public Plane {
 public:
  explicit FakePlane(std::size_t sites, std::uint32_t slots_of_each = 4096,
                     std::uint32_t elements_of_chunks = 8192)
      : slots(slots_of_each), elements(elements_of_chunks) {
    for (std::size_t site = 0; site < sites; ++site) {
      sites_.push_back({":" + std::to_string(7700 + site), 0});
    }
  }
  std::vector<SiteAddress> sites() const override {
    core::SiteRecord record = look_at(&FakePlane::record_);
    record.elements_max = elements;
    std::vector<SiteAddress> sites = sites_;
    for (SiteAddress& site : sites) site.record = record;
    return sites;
  }
  std::uint32_t slots_total() const override { return slots; }
  std::uint32_t slots_of_job_max() const override { return slots_of_job; }
  std::uint32_t datagram_bytes_max() const override { return datagram_bytes; }
  Answer<void> start_job(const JobTerms& terms) override {
    if (const auto meanwhile = look_at(&FakePlane::while_starting_)) meanwhile(terms);
    // Both throw: like an allocation that is too large, and like a fault of the plane.
    if (has_no_memory) std::vector<std::uint64_t>().reserve(~std::size_t{0});
    if (has_a_fault) static_cast<void>(std::string().at(1));
    const base::MutexLock lock(mutex_);
    if (refusal_) return tl::unexpected(*refusal_);
    started_.push_back(terms);
    return {};
  }
  std::optional<core::Abort> end_job(std::uint16_t, const core::Abort& abort) override {
    if (const auto meanwhile = look_at(&FakePlane::while_ending_)) meanwhile();
    const base::MutexLock lock(mutex_);
    ends_.push_back(abort);
    return kept_ ? kept_ : abort;
  }
  void forget_job(std::uint16_t job) override {
    const base::MutexLock lock(mutex_);
    forgotten_.push_back(job);
  }

  bool wants_transfers() const override { return wants; }
  void note_call(std::uint16_t job, const CallNote& note) override {
    const base::MutexLock lock(mutex_);
    notes_.emplace_back(job, note);
  }

  // Servers' threads read these whenever a rank comes.
  std::atomic<bool> wants = false;
  std::atomic<std::uint32_t> slots;
  std::atomic<std::uint32_t> slots_of_job = ~0U;
  std::atomic<std::uint32_t> datagram_bytes = 8972;
  std::atomic<std::uint32_t> elements;
  std::atomic<bool> has_no_memory = false;
  std::atomic<bool> has_a_fault = false;

  // Called while a job starts, without the lock.
  void while_starting(std::function<void(const JobTerms&)> action) {
    const base::MutexLock lock(mutex_);
    while_starting_ = std::move(action);
  }
  // Called while a job ends, without the lock.
  void while_ending(std::function<void()> action) {
    const base::MutexLock lock(mutex_);
    while_ending_ = std::move(action);
  }
  // The end that the job's aggregators have learned before all others.
  void keep(const core::Abort& abort) {
    const base::MutexLock lock(mutex_);
    kept_ = abort;
  }
  void set_record(const core::SiteRecord& record) {
    const base::MutexLock lock(mutex_);
    record_ = record;
  }
  void refuse(const Refusal& refusal) {
    const base::MutexLock lock(mutex_);
    refusal_ = refusal;
  }
  std::vector<JobTerms> started() const { return look_at(&FakePlane::started_); }
  std::vector<core::Abort> ends() const { return look_at(&FakePlane::ends_); }
  std::vector<std::uint16_t> forgotten() const { return look_at(&FakePlane::forgotten_); }
  // Returns what rank 0 reported, with the job's number.
  std::vector<std::pair<std::uint16_t, CallNote>> notes() const {
    return look_at(&FakePlane::notes_);
  }

 private:
  template <typename T>
  T look_at(T FakePlane::* member) const {
    const base::MutexLock lock(mutex_);
    return this->*member;
  }

  mutable base::Mutex mutex_;
  std::function<void(const JobTerms&)> while_starting_ GUARDED_BY(mutex_);
  std::function<void()> while_ending_ GUARDED_BY(mutex_);
  std::optional<core::Abort> kept_ GUARDED_BY(mutex_);
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  std::vector<JobTerms> started_ GUARDED_BY(mutex_);
  std::vector<core::Abort> ends_ GUARDED_BY(mutex_);
  std::vector<std::uint16_t> forgotten_ GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint16_t, CallNote>> notes_ GUARDED_BY(mutex_);
  std::vector<SiteAddress> sites_;
  core::SiteRecord record_ GUARDED_BY(mutex_);  // except for elements_max
};

// Makes the hello of a job's rank. Each rank's path carries one byte more than the path of the rank
// before it.
inline Hello hello_of(std::size_t rank, std::size_t world, std::string job = "job") {
  Hello hello;
  hello.job = std::move(job);
  hello.rank = static_cast<std::uint32_t>(rank);
  hello.world = static_cast<std::uint32_t>(world);
  hello.datagram_bytes_max = 1472 + static_cast<std::uint32_t>(rank);
  hello.small_slots = 64;
  hello.bulk_slots = 448;
  hello.patience = std::chrono::seconds(20);
  return hello;
}

// Keeps everything that one rank has heard.
class Ear final : public RankListener {
 public:
  void all_here(const JobTerms& terms) override {
    const base::MutexLock lock(mutex_);
    EXPECT_FALSE(is_over()) << "another call after the last one";
    EXPECT_FALSE(terms_);
    terms_ = terms;
  }
  void all_ready(const std::vector<HostGroup>& groups) override {
    const base::MutexLock lock(mutex_);
    EXPECT_FALSE(is_over());
    EXPECT_TRUE(terms_ && !groups_);
    groups_ = groups;
  }
  void refused(const Refusal& refusal) override {
    const base::MutexLock lock(mutex_);
    EXPECT_FALSE(is_over() || groups_);
    refusal_ = refusal;
  }
  void ended(const JobEnd& end) override {
    const base::MutexLock lock(mutex_);
    EXPECT_TRUE(groups_ && !end_ && !is_over());
    end_ = end;
  }
  void dismissed() override {
    const base::MutexLock lock(mutex_);
    EXPECT_FALSE(is_over());
    dismissed_ = true;
  }

  std::optional<JobTerms> terms() const { return look_at(&Ear::terms_); }
  std::optional<std::vector<HostGroup>> groups() const { return look_at(&Ear::groups_); }
  std::optional<Refusal> refusal() const { return look_at(&Ear::refusal_); }
  std::optional<JobEnd> end() const { return look_at(&Ear::end_); }
  bool was_dismissed() const { return look_at(&Ear::dismissed_); }

 private:
  bool is_over() const REQUIRES(mutex_) { return refusal_ || dismissed_; }
  template <typename T>
  T look_at(T Ear::* member) const {
    const base::MutexLock lock(mutex_);
    return this->*member;
  }

  mutable base::Mutex mutex_;
  std::optional<JobTerms> terms_ GUARDED_BY(mutex_);
  std::optional<std::vector<HostGroup>> groups_ GUARDED_BY(mutex_);
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  std::optional<JobEnd> end_ GUARDED_BY(mutex_);
  bool dismissed_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::join::testing
