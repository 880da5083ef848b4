// SPDX-License-Identifier: Apache-2.0
//
// A sparse call: a chain of transfers in which the ranks join what they have, each of which gives
// the next its size, and the sum of what some rank has (sparse/block_sum.h). The sum is one
// transfer, or those of digits. Beside them, a call whose layout is automatic may join the ranks'
// opinions, behind the sum in the order of calls.
#pragma once

#include "rank/calls/adders/block_digits.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"
#include "sparse/block_sum.h"

namespace infold::rank {

class SparseLaunch : public Launch {
 public:
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) override;
  Size size_after(std::uint32_t number, base::Instant now) override;
  std::optional<Error> deliver() override;
  sparse::LayoutChoice::Outcome outcome() const override;
  void clear() override;

 protected:
  explicit SparseLaunch(ScratchPool& pool) : digits_(pool), staging_(pool) {}

  // `work` without this rank's place in the job.
  LaunchOutline begin_sum(sparse::BlockSum::Work work, const LaunchTerms& terms);

  sparse::BlockSum& sum() { return sum_; }
  Staging& staging() { return staging_; }

 private:
  bool joins_opinions() const { return terms_.opinion.has_value(); }
  bool sums_digits() const { return terms_.format.exchange == codec::Exchange::digits; }
  // Transfers in which the ranks join what they have.
  std::uint32_t joins() const { return sum_.steps() - 1; }
  std::uint32_t sums() const { return sums_digits() ? BlockDigits::kTransfers : 1; }

  sparse::BlockSum sum_;
  BlockDigits digits_;  // where sums_digits()
  Staging staging_;
  LaunchTerms terms_;
  base::Instant joined_;           // when the ranks knew what some rank has
  sparse::Opinions opinions_ = 0;  // of all ranks, once joined
};

}  // namespace infold::rank
