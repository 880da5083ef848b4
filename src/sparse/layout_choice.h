// SPDX-License-Identifier: Apache-2.0
//
// Chooses for each call whether it is sparse. Each rank decides locally, from shared history, so
// all ranks choose the same. Ranks learn the size of the union and the time of a call at different
// moments. So the choice rests only on calls at least kBehind places before, which must be done by
// then. It uses their kinds, the unions that their joins found, and the *opinions* that the ranks
// gave with them. A rank's own measurements go into its opinions alone.
//
//   next() -> the call is made, with the opinion if asks -> done()
//
// The same next() and done() for the same calls give the same choices. The time and order in which
// calls are done make no difference. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "core/format.h"

namespace infold::sparse {

// Tensors of one kind count as the same tensor in one call after the other.
struct TensorKind {
  core::ElementLayout layout;
  core::Reduction reduction = core::Reduction::sum;
  std::uint64_t elements = 0;

  friend bool operator==(const TensorKind& a, const TensorKind& b) {
    return a.layout.format == b.layout.format && a.layout.dtype == b.layout.dtype &&
           a.reduction == b.reduction && a.elements == b.elements;
  }
};

// The ranks' opinions about sparse calls of a kind, joined by a bitwise or.
using Opinions = std::uint32_t;
constexpr Opinions kItPaid = 1;    // sparse was faster
constexpr Opinions kItDidNot = 2;  // dense was faster

class LayoutChoice {
 public:
  // More than the calls that programs have in flight, so that calls rarely wait for each other.
  static constexpr std::size_t kBehind = 64;
  // A look is a sparse call of a kind that is dense. It costs about a round trip, so it is rare.
  static constexpr std::uint64_t kLookEvery = 64;
  // A kind's first calls are looks. When the ranks first join their opinions, they have measured
  // both layouts. Each was measured on a second call, when memory and windows have grown.
  static constexpr std::uint64_t kFirstLooks = 2;
  static constexpr std::uint64_t kFirstAsked = 8;
  // Shorter tensors take a round trip in either layout.
  static constexpr std::uint64_t kBytesMin = std::uint64_t{16} << 10;
  // Longer tensors are sparse until something is known, because a look costs little then.
  static constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 20;
  // The most kinds that are remembered. Then the kind with the oldest call is forgotten.
  static constexpr std::size_t kKindsMax = 256;

  struct Choice {
    std::uint64_t number = 0;
    bool is_sparse = false;
    bool asks = false;     // the ranks join their opinions with this call
    Opinions opinion = 0;  // this rank's, if asks
  };

  struct Outcome {
    // For sparse calls: the blocks of the union, and of the tensor. 0 for dense calls.
    std::uint64_t union_blocks = 0;
    std::uint64_t blocks = 0;
    Opinions opinions = 0;  // of all ranks
    // Whether no other call of this rank was in flight meanwhile. Otherwise the times are not used.
    bool was_alone = false;
    base::Duration joining;  // until the ranks knew the union
    base::Duration whole;
  };

  // Whether a kind is long enough for a choice. Shorter tensors are dense and never come here.
  static bool is_long_enough(const TensorKind& kind) { return bytes_of(kind) >= kBytesMin; }

  // Whether the call that the next choice needs is done.
  bool is_ready() const { return next_ < kBehind || pending(next_).is_done; }
  // Requires: is_ready()
  Choice next(const TensorKind& kind);
  void done(std::uint64_t number, const Outcome& outcome);

 private:
  enum class Verdict : std::uint8_t { open, dense, sparse };

  // The least of the last times. Times of ranks that come early include the wait for the others.
  class Least {
   public:
    void add(base::Duration time) { times_[next_++ % times_.size()] = time; }
    bool is_known() const { return next_ > 0; }
    base::Duration time() const;

   private:
    std::array<base::Duration, 4> times_;
    std::size_t next_ = 0;
  };

  struct Known {
    TensorKind kind;
    // The same at all ranks.
    Verdict verdict = Verdict::open;
    std::uint64_t calls = 0;
    std::uint64_t last_call = 0;
    // This rank's own, from calls that were alone.
    Least dense;
    Outcome look;  // the last sparse call; no blocks if there was none
  };

  struct Pending {
    TensorKind kind;
    bool asks = false;
    bool is_done = false;
    Outcome outcome;
  };

  static std::uint64_t bytes_of(const TensorKind& kind) {
    return kind.elements * kind.layout.element_bytes();
  }
  const Pending& pending(std::uint64_t number) const { return pending_[number % kBehind]; }
  Known* find(const TensorKind& kind);
  Known& find_or_add(const TensorKind& kind);
  void learn(const Pending& call);
  static Opinions opinion_of(const Known& known);

  std::uint64_t next_ = 0;
  std::array<Pending, kBehind> pending_;
  std::vector<Known> known_;
};

}  // namespace infold::sparse
