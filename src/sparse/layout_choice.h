// SPDX-License-Identifier: Apache-2.0
//
// Whether the zeros of a tensor are left out, chosen call by call and alike at all ranks without a
// word between them. Ranks learn how much some rank has, and how long it took, at different
// moments; so the choice for a call rests on calls at least kBehind places before it, which must be
// done by then, and on nothing else: their kinds, what their joins found, and the *opinions* that
// ranks gave with them. What a rank measures goes into its opinions alone.
//
//   next() -> the call is made, with the opinion if asked -> done()
//
// The same next() and done() of the same calls give the same choices; when, and in which order,
// calls are done makes no difference. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "core/format.h"

namespace infold::sparse {

// Tensors of one kind are taken for the same one, over and over.
struct TensorKind {
  core::ElementLayout layout;
  core::Reduction reduction = core::Reduction::sum;
  std::uint64_t elements = 0;

  friend bool operator==(const TensorKind& a, const TensorKind& b) {
    return a.layout.format == b.layout.format && a.layout.dtype == b.layout.dtype &&
           a.reduction == b.reduction && a.elements == b.elements;
  }
};

// What the ranks think of leaving out the zeros of a kind, joined bit by bit.
using Opinions = std::uint32_t;
constexpr Opinions kItPaid = 1;
constexpr Opinions kItDidNot = 2;

class LayoutChoice {
 public:
  // More calls than programs have in flight, or a call would wait for one that long before it.
  static constexpr std::size_t kBehind = 64;
  // A look costs about a round trip, which one call in so many can bear.
  static constexpr std::uint64_t kLookEvery = 64;
  // The first looks are a kind's first calls. When ranks are asked for the first time, they have
  // measured both layouts, the one on its second call, when memory and windows have grown.
  static constexpr std::uint64_t kFirstLooks = 2;
  static constexpr std::uint64_t kFirstAsked = 8;
  // Shorter ones take a round trip whatever is in them.
  static constexpr std::uint64_t kBytesMin = std::uint64_t{16} << 10;
  // So long as nothing is known of longer ones, their zeros are left out, as looking costs little.
  static constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 20;
  // Of kinds; then the one that was called longest ago is forgotten.
  static constexpr std::size_t kKindsMax = 256;

  struct Choice {
    std::uint64_t number = 0;
    bool is_sparse = false;
    bool asks = false;     // the ranks join their opinions
    Opinions opinion = 0;  // this rank's, then
  };

  struct Outcome {
    // Of sparse calls, else 0: how many blocks of how many some rank had.
    std::uint64_t union_blocks = 0;
    std::uint64_t blocks = 0;
    Opinions opinions = 0;  // of all ranks
    // Whether no other call of this rank was in flight meanwhile; else times say nothing.
    bool was_alone = false;
    base::Duration joining;  // until the ranks knew what some rank has
    base::Duration whole;
  };

  // Whether it is worth a choice; if not, the tensor is sent as it is and never comes here.
  static bool is_long_enough(const TensorKind& kind) { return bytes_of(kind) >= kBytesMin; }

  // Whether what the next choice rests on is done.
  bool is_ready() const { return next_ < kBehind || pending(next_).is_done; }
  // Requires: is_ready()
  Choice next(const TensorKind& kind);
  void done(std::uint64_t number, const Outcome& outcome);

 private:
  enum class Verdict : std::uint8_t { open, dense, sparse };

  // The least of what was measured lately: ranks that come early wait for the others, too.
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
    // Alike at all ranks.
    Verdict verdict = Verdict::open;
    std::uint64_t calls = 0;
    std::uint64_t last_call = 0;
    // Of this rank, from calls that were alone.
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
