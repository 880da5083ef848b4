// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/sparse.h"

#include "rank/calls/failure_text.h"

namespace infold::rank {

LaunchOutline SparseLaunch::begin_sum(sparse::BlockSum::Work work, const LaunchTerms& terms) {
  terms_ = terms;
  opinions_ = terms.opinion.value_or(0);
  work.rank = static_cast<std::uint32_t>(terms.rank);
  work.world = static_cast<std::uint32_t>(terms.world);
  sum_.begin(work);
  LaunchOutline outline;
  outline.transfers = sum_.steps() + (joins_opinions() ? 1 : 0);
  outline.sizing = sum_.steps() - 1;
  outline.elements = work.dense.elements;
  outline.composed = true;
  outline.leaves_out_zeros = true;
  return outline;
}

core::TransferRequest SparseLaunch::transfer(std::uint32_t number, core::TransferId) {
  if (number < sum_.steps()) return sum_.step(number);
  core::TransferRequest request = sparse::blank_join();
  request.elements = 1;
  request.output = reinterpret_cast<std::byte*>(&opinions_);
  request.input = request.output;
  request.deadline = terms_.deadline;
  return request;
}

Launch::Size SparseLaunch::size_after(std::uint32_t number, base::Instant now) {
  const std::uint64_t elements = sum_.size_after(number);
  const bool is_last = number + 2 == sum_.steps();
  if (is_last) joined_ = now;
  if (is_last && sum_.staged_bytes() > 0) sum_.stage(staging_.take(sum_.staged_bytes()));
  return {elements, sum_.own_after(number)};
}

std::optional<Error> SparseLaunch::deliver() {
  if (sum_.row_lengths_differ()) return describe_row_lengths(*sum_.row_lengths_differ());
  sum_.finish();
  return std::nullopt;
}

sparse::LayoutChoice::Outcome SparseLaunch::outcome() const {
  sparse::LayoutChoice::Outcome outcome;
  outcome.union_blocks = sum_.union_blocks();
  outcome.blocks = sum_.blocks();
  outcome.joining = joined_ - terms_.started;
  outcome.opinions = opinions_;
  return outcome;
}

}  // namespace infold::rank
