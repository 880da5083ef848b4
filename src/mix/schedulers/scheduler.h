// SPDX-License-Identifier: Apache-2.0
//
// Which sums of which jobs go to the network now. A job tells its scheduler of a gradient when all
// its ranks have it, and of each piece that is summed. Each time, the job then makes the calls that
// next() names, at all ranks at once. One scheduler serves all jobs of a cluster.
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
  double time_per_element = 1;  // on links of equal rate all times are equal
};

struct JobShape {
  JobIndex job = 0;
  std::uint64_t elements = 0;  // of all gradients of one iteration
  std::vector<LinkUse> links;
  std::vector<std::uint32_t> switches;  // where it sums
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void add_job(const JobShape& job) = 0;
  // Requires: nothing of the job waits or is being summed.
  virtual void remove_job(JobIndex job) = 0;
  virtual void add(const Gradient& gradient) = 0;
  virtual void finish(const Piece& piece) = 0;
  // The piece that is called now. Nothing: until the next call of a function above.
  virtual std::optional<Piece> next() = 0;
};

// Sizes in elements.
struct PieceOptions {
  std::uint64_t piece = 1;   // a larger gradient is cut in pieces of this size
  std::uint64_t credit = 1;  // of one job's pieces in flight; one piece is always allowed
};

// Calls each gradient as a whole when it is ready.
std::unique_ptr<Scheduler> make_unscheduled();
// Within each job, calls the first layers' pieces first: the next iteration needs them first. The
// credit bounds what is already on its way when a more urgent gradient comes.
std::unique_ptr<Scheduler> make_priority(const PieceOptions& options);
// Orders the jobs' iterations as coflows. A job's pieces wait while jobs before it in the order
// have pieces that wait or are in flight, and fill a link of both. A job's rate is that of its
// slowest link. Within a job, pieces go as they come.
std::unique_ptr<Scheduler> make_sincronia(const PieceOptions& options);
// Switches have so many slots each, in elements. A piece holds as many slots at each switch of its
// job, from its call to its end. Jobs take turns, a piece each.
std::unique_ptr<Scheduler> make_slot_sharing(const PieceOptions& options,
                                             std::uint64_t slot_elements);

}  // namespace infold::mix
