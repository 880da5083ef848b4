// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/sparse.h"

#include "rank/calls/failure_text.h"

namespace infold::rank {

LaunchOutline SparseLaunch::begin_sum(sparse::BlockSum::Work work, const LaunchTerms& terms) {
  terms_ = terms;
  opinions_ = terms.opinion.value_or(0);
  work.rank = static_cast<std::uint32_t>(terms.rank);
  work.world = static_cast<std::uint32_t>(terms.world);
  if (sums_digits()) digits_.begin(work.dense, terms);
  sum_.begin(work);
  LaunchOutline outline;
  outline.transfers = joins() + sums() + (joins_opinions() ? 1 : 0);
  outline.sizing = joins() + sums() - 1;
  outline.elements = work.dense.elements;
  outline.composed = true;
  outline.exchanges = sums_digits();
  outline.leaves_out_zeros = true;
  return outline;
}

core::TransferRequest SparseLaunch::transfer(std::uint32_t number, core::TransferId) {
  if (number < joins()) return sum_.step(number);
  number -= joins();
  if (number < sums()) return sums_digits() ? digits_.transfer(number) : sum_.step(joins());
  core::TransferRequest request = sparse::blank_join();
  request.elements = 1;
  request.output = reinterpret_cast<std::byte*>(&opinions_);
  request.input = request.output;
  request.deadline = terms_.deadline;
  return request;
}

Launch::Size SparseLaunch::size_after(std::uint32_t number, base::Instant now) {
  if (number >= joins()) return {digits_.plan()};
  const std::uint64_t elements = sum_.size_after(number);
  if (number + 1 < joins()) return {elements, sum_.own_after(number)};
  joined_ = now;
  if (sum_.staged_bytes() > 0) sum_.stage(staging_.take(sum_.staged_bytes()));
  if (sums_digits()) return {digits_.gather(sum_)};
  return {elements, sum_.own_after(number)};
}

std::optional<Error> SparseLaunch::deliver() {
  if (sum_.row_lengths_differ()) return describe_row_lengths(*sum_.row_lengths_differ());
  if (sums_digits()) digits_.deliver(sum_);
  sum_.finish();
  return std::nullopt;
}

void SparseLaunch::clear() {
  digits_.clear();
  staging_.clear();
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
