// SPDX-License-Identifier: Apache-2.0
//
// Chooses for each call whether it is sparse. Each rank decides by itself, but from shared history,
// so that all ranks choose the same. Ranks learn the union's size and the time of a call at
// different moments. The choice therefore rests only on calls at least kBehind places earlier,
// which must be done by then. It uses their kinds, the unions that their joins found, and the
// *opinions* that the ranks sent with them. A rank's own measurements influence nothing but its
// opinions.
//
//   next() -> the call is made, with this rank's opinion if Choice::asks -> done()
//
// The same calls of next() and done() lead to the same choices, whenever and in whatever order the
// calls are done. This class is not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "core/format.h"

namespace infold::sparse {

// Calls whose tensors are of the same kind count as calls with the same tensor.
struct TensorKind {
  core::ElementLayout layout;
  core::Reduction reduction = core::Reduction::sum;
  std::uint64_t elements = 0;

  friend bool operator==(const TensorKind& a, const TensorKind& b) {
    return a.layout.format == b.layout.format && a.layout.dtype == b.layout.dtype &&
           a.reduction == b.reduction && a.elements == b.elements;
  }
};

// Opinions about sparse calls of a kind. A bitwise or joins the opinions of all ranks.
using Opinions = std::uint32_t;
constexpr Opinions kItPaid = 1;    // sparse was faster
constexpr Opinions kItDidNot = 2;  // dense was faster

class LayoutChoice {
 public:
  // More calls than programs usually have in flight, so that calls rarely wait for each other.
  static constexpr std::size_t kBehind = 64;
  // A look is a sparse call of a kind that is otherwise dense. It costs about a round trip, so
  // looks are rare.
  static constexpr std::uint64_t kLookEvery = 64;
  // A kind's first calls are looks. By the time the ranks first join their opinions, each layout
  // has been measured on at least its second call, when memory and congestion windows have grown.
  static constexpr std::uint64_t kFirstLooks = 2;
  static constexpr std::uint64_t kFirstAsked = 8;
  // Shorter tensors take one round trip in either layout, so they are always dense.
  static constexpr std::uint64_t kBytesMin = std::uint64_t{16} << 10;
  // Longer tensors are sparse until something is known, because a look costs them little.
  static constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 20;
  // How many kinds are remembered. Beyond that, the kind that was called longest ago is forgotten.
  static constexpr std::size_t kKindsMax = 256;

  struct Choice {
    std::uint64_t number = 0;
    bool is_sparse = false;
    bool asks = false;     // whether the ranks join their opinions in this call
    Opinions opinion = 0;  // this rank's opinion, if asks
  };

  struct Outcome {
    // For sparse calls, the numbers of blocks in the union and in the tensor. 0 for dense calls.
    std::uint64_t union_blocks = 0;
    std::uint64_t blocks = 0;
    Opinions opinions = 0;  // joined over all ranks
    // Whether no other call of this rank was in flight meanwhile. If one was, the times are not
    // used.
    bool was_alone = false;
    base::Duration joining;  // how long it took until the ranks knew the union
    base::Duration whole;
  };

  // Whether a kind is long enough for a choice. Callers send shorter tensors dense without asking.
  static bool is_long_enough(const TensorKind& kind) { return bytes_of(kind) >= kBytesMin; }

  // Whether the call that the next choice depends on is done.
  bool is_ready() const { return next_ < kBehind || pending(next_).is_done; }
  // Chooses for the next call. Requires: is_ready().
  Choice next(const TensorKind& kind);
  void done(std::uint64_t number, const Outcome& outcome);

 private:
  enum class Verdict : std::uint8_t { open, dense, sparse };

  // Keeps the shortest of the last times. A rank that calls early also measures its wait for the
  // others, so shorter times are closer to the truth.
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
    // These are the same at all ranks.
    Verdict verdict = Verdict::open;
    std::uint64_t calls = 0;
    std::uint64_t last_call = 0;
    // These are this rank's own measurements, from calls that were alone.
    Least dense;
    Outcome look;  // the last sparse call; blocks is 0 if there was none
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
