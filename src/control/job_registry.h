// SPDX-License-Identifier: Apache-2.0
//
// Which jobs there are, who has come, and what they agreed on. Knows nothing of connections or
// packets: a caller brings each rank's words and is told when to go on.
//
//   enter() --- all ranks have come ---> joined --- ready() by all ---> running --- gone() by all
//      \__ refused: wrong, taken, full, or too late
//
// Which ranks sum on their own host first is proposed when all have come and settled when all are
// ready; a job that is one host then takes nothing of the plane.
//
// Any thread may call anything. enter() and ready() block, at most as long as the job's patience.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "control/host_groups.h"
#include "core/packet.h"

namespace infold::control {

// Of proto/infold/v1, said by both ends.
inline constexpr std::uint32_t kProtocolVersion = 1;

struct SiteAddress {
  std::string address;
  std::uint32_t weight = 0;  // 0: as the ranks choose
};

// What a rank says when it comes.
struct RankWords {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t small_slots = 0;
  std::uint32_t bulk_slots = 0;
  std::optional<SiteAddress> site;  // its own aggregator
  std::optional<RankHost> host;     // none: it shares no memory
  std::uint32_t element_bytes = 4;  // on the wire, of what it will mostly send
  bool always_shares = false;       // whether or not that saves bytes
  std::chrono::milliseconds patience{};
};

// What it says when it has met the others.
struct ReadyWords {
  bool shares_memory = false;  // with all of its group
  std::uint64_t site_order =
      0;  // a hash of the sites, their order and weights as it has them; 0: not said
  std::optional<bool> verifies;  // whether it compares results, by further calls; none: not said
  // Of a job that comes back: all calls up to this one are finished, and beyond it those that have
  // this hash.
  std::uint64_t calls_finished = 0;
  std::uint64_t calls_beyond = 0;
};

// What all ranks are told.
struct JobTerms {
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t elements_max = 0;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::vector<SiteAddress> sites;
  std::vector<HostGroup> groups;  // proposed, and after ready() those in use
};

enum class RefusalReason : std::uint8_t {
  invalid,
  in_use,
  mismatch,
  full,
  too_late,
  stopping,
  given_up,  // by the rank itself
};

struct Refusal {
  RefusalReason reason = RefusalReason::invalid;
  std::string message;
  int rank = -1;  // to look at
};

template <typename T>
using Answer = tl::expected<T, Refusal>;

// What aggregates here; there may be nothing, when the ranks do it all.
class Plane {
 public:
  virtual ~Plane() = default;
  virtual std::vector<SiteAddress> sites() const = 0;
  virtual std::uint32_t slots_total() const = 0;  // of each site
  virtual std::uint32_t datagram_bytes_max() const = 0;
  virtual std::uint32_t elements_max() const = 0;
  // A refusal is told to all ranks.
  virtual Answer<void> start_job(const JobTerms& terms) = 0;
  virtual void end_job(std::uint16_t job, const core::Abort& abort) = 0;
  virtual void forget_job(std::uint16_t job) = 0;
};

struct JobStatus {
  std::string name;
  std::uint16_t job = 0;
  std::uint32_t world = 0;
  std::uint32_t ranks = 0;  // that have come and not left
  std::uint32_t slots = 0;
  bool running = false;
};

class JobRegistry {
 public:
  class Job;
  // A rank's place in a job, for as long as it belongs to it.
  struct Seat {
    std::shared_ptr<Job> job;
    std::uint32_t rank = 0;
  };
  // Told once, from any thread, when the job ends because of this rank, or, with no rank, because
  // everything stops.
  using EndListener = std::function<void(std::optional<std::uint32_t> lost_rank)>;

  // `plane` may be null. `seed` decides epochs, which must differ from those of an earlier life.
  JobRegistry(Plane* plane, std::uint64_t seed);
  ~JobRegistry();

  // Blocks until all have come. On success the seat must be given back by leave().
  Answer<Seat> enter(const RankWords& words, EndListener on_end);
  const JobTerms& terms(const Seat& seat) const;
  // Blocks until all are ready to receive packets. A group is in use if all its ranks share memory;
  // ranks that have other sites than the first, or do not verify alike, are told so.
  Answer<void> ready(const Seat& seat, const ReadyWords& words);
  // A rank that left in good order, or one that was lost: then the others are told.
  void leave(const Seat& seat, bool in_order);
  // After leave(): where this rank aggregates for others, blocks until they have left, or a moment
  // for those that still fetch their last results. To those that stay on, the rank is lost then.
  void linger(const Seat& seat);
  // Everybody is told who does not know of a refusal already; all that come later are refused.
  void stop();

  std::vector<JobStatus> status() const;
  std::uint32_t slots_free() const;

 private:
  Answer<std::shared_ptr<Job>> place(const RankWords& words);
  Answer<void> start(Job& job);
  Answer<void> take_slots(Job& job);
  void settle(Job& job);
  void refuse_all(Job& job, Refusal refusal);
  std::vector<EndListener> end(Job& job, std::uint32_t lost_rank);
  void drop(const std::shared_ptr<Job>& job);

  Plane* plane_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Job>, std::less<>> jobs_;
  std::uint32_t slots_used_ = 0;
  std::uint16_t next_number_ = 1;
  bool stopping_ = false;
};

}  // namespace infold::control
