// SPDX-License-Identifier: Apache-2.0
#include "sparse/layout_choice.h"

#include <algorithm>

#include "base/check.h"

namespace infold::sparse {
namespace {

// If the union has more than 31 of every 32 blocks, joining the sets costs more than it saves.
bool is_nearly_all(const LayoutChoice::Outcome& outcome) {
  return outcome.union_blocks * 32 > outcome.blocks * 31;
}

}  // namespace

base::Duration LayoutChoice::Least::time() const {
  const auto count = static_cast<std::ptrdiff_t>(std::min(next_, times_.size()));
  return *std::min_element(times_.begin(), times_.begin() + count);
}

LayoutChoice::Choice LayoutChoice::next(const TensorKind& kind) {
  CHECK(is_ready());
  if (next_ >= kBehind) learn(pending(next_));
  Known& known = find_or_add(kind);
  const bool looks = known.calls < kFirstLooks || known.calls == kFirstAsked ||
                     (known.calls > 0 && known.calls % kLookEvery == 0);
  const bool hopes = known.verdict == Verdict::open && bytes_of(kind) >= kLongBytes;
  Choice choice;
  choice.number = next_++;
  choice.is_sparse = looks || hopes || known.verdict == Verdict::sparse;
  choice.asks = looks && known.calls >= kFirstAsked;
  if (choice.asks) choice.opinion = opinion_of(known);
  ++known.calls;
  known.last_call = choice.number;
  pending_[choice.number % kBehind] = {kind, choice.asks, false, {}};
  return choice;
}

void LayoutChoice::done(std::uint64_t number, const Outcome& outcome) {
  CHECK_THAT(number, <, next_);
  CHECK_THAT(next_ - number, <=, kBehind);
  Pending& call = pending_[number % kBehind];
  CHECK(!call.is_done);
  call.outcome = outcome;
  call.is_done = true;
  Known* const known = find(call.kind);
  if (known == nullptr || !outcome.was_alone) return;
  if (outcome.blocks == 0) {
    known->dense.add(outcome.whole);
  } else {
    known->look = outcome;
  }
}

// Called in the order of calls, with facts that are the same at all ranks.
void LayoutChoice::learn(const Pending& call) {
  Known* const known = find(call.kind);
  const Outcome& outcome = call.outcome;
  if (known == nullptr || outcome.blocks == 0) return;
  if (is_nearly_all(outcome)) {
    known->verdict = Verdict::dense;
  } else if ((outcome.opinions & kItPaid) != 0) {
    // The rank that makes the call last does not wait for others, so its times are the true ones.
    // One rank that found sparse faster is therefore enough.
    known->verdict = Verdict::sparse;
  } else if ((outcome.opinions & kItDidNot) != 0) {
    known->verdict = Verdict::dense;
  } else if (bytes_of(call.kind) >= kLongBytes && (call.asks || known->verdict == Verdict::open)) {
    known->verdict = Verdict::sparse;
  }
}

Opinions LayoutChoice::opinion_of(const Known& known) {
  const Outcome& look = known.look;
  if (look.blocks == 0 || is_nearly_all(look)) return 0;
  if (known.dense.is_known()) {
    return look.whole <= known.dense.time() ? kItPaid : kItDidNot;
  }
  // No call of this kind was dense yet. Estimate the dense time as the time of the sum, divided by
  // the share of blocks that was summed. That is too high for short tensors, whose time is mostly a
  // round trip, but these begin with dense calls.
  const double share = static_cast<double>(look.union_blocks) / static_cast<double>(look.blocks);
  const auto summing = static_cast<double>((look.whole - look.joining).ns);
  return static_cast<double>(look.whole.ns) * share <= summing ? kItPaid : kItDidNot;
}

LayoutChoice::Known* LayoutChoice::find(const TensorKind& kind) {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& each) { return each.kind == kind; });
  return found == known_.end() ? nullptr : &*found;
}

LayoutChoice::Known& LayoutChoice::find_or_add(const TensorKind& kind) {
  if (Known* const known = find(kind)) return *known;
  Known fresh;
  fresh.kind = kind;
  if (known_.size() < kKindsMax) return known_.emplace_back(fresh);
  return *std::min_element(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
    return a.last_call < b.last_call;
  }) = fresh;
}

}  // namespace infold::sparse
