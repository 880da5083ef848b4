// SPDX-License-Identifier: Apache-2.0
//
// Decides which sums of which jobs go to the network now. A job tells its scheduler when all its
// ranks have a gradient, and when a piece has been summed. Each time, the job then makes the calls
// that next() returns, at all ranks at once. One scheduler serves all jobs of a cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace infold::mix {

using JobIndex = std::uint32_t;

// All ranks of the job have this layer's gradient.
struct Gradient {
  JobIndex job = 0;
  std::uint32_t layer = 0;
  std::uint64_t elements = 0;
};

// One call sums this part of a gradient.
struct Piece {
  JobIndex job = 0;
  std::uint32_t layer = 0;
  std::uint64_t elements = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// A link that a job's sums cross, in both directions.
struct LinkUse {
  std::uint32_t link = 0;
  double time_per_element = 1;  // equal for all links if they have the same rate
};

struct JobShape {
  JobIndex job = 0;
  std::uint64_t elements = 0;  // all gradients of one iteration together
  std::vector<LinkUse> links;
  std::vector<std::uint32_t> switches;  // the switches where it sums
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void add_job(const JobShape& job) = 0;
  // Requires: nothing of the job waits or is being summed.
  virtual void remove_job(JobIndex job) = 0;
  virtual void add(const Gradient& gradient) = 0;
  virtual void finish(const Piece& piece) = 0;
  // Returns the piece to call now, or nothing until one of the functions above is called again.
  virtual std::optional<Piece> next() = 0;
};

// Sizes are in elements.
struct PieceOptions {
  std::uint64_t piece = 1;   // larger gradients are cut into pieces of this size
  std::uint64_t credit = 1;  // limit for one job's pieces in flight; one piece is always allowed
};

// Calls each gradient as a whole when it is ready.
std::unique_ptr<Scheduler> make_unscheduled();
// Within each job, calls the pieces of the first layers first, because the next iteration needs
// them first. The credit limits what is already on its way when a more urgent gradient comes.
std::unique_ptr<Scheduler> make_priority(const PieceOptions& options);
// Orders the jobs' iterations as coflows. A job's pieces wait while earlier jobs in the order have
// pieces that wait or are in flight and that fill a link of both. A job's rate is the rate of its
// slowest link. Within a job, pieces are called as they come.
std::unique_ptr<Scheduler> make_sincronia(const PieceOptions& options);
// Each switch has slots for `slot_elements` elements. A piece holds slots for its elements at each
// switch of its job, from its call to its end. Jobs take turns, one piece each.
std::unique_ptr<Scheduler> make_slot_sharing(const PieceOptions& options,
                                             std::uint64_t slot_elements);

}  // namespace infold::mix
