// SPDX-License-Identifier: Apache-2.0
//
// A sparse call. In a chain of transfers the ranks join the sets of blocks that they have, and each
// transfer determines the size of the next. Then the blocks that some rank has are summed
// (sparse/block_sum.h), in one transfer or in the transfers of digits. If the call's layout is
// automatic, it may also join the ranks' opinions, after the sum in the order of calls.
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

  // `work` does not have to contain this rank's place in the job.
  LaunchOutline begin_sum(sparse::BlockSum::Work work, const LaunchTerms& terms);

  sparse::BlockSum& sum() { return sum_; }
  Staging& staging() { return staging_; }

 private:
  bool joins_opinions() const { return terms_.opinion.has_value(); }
  bool sums_digits() const { return terms_.format.exchange == encoding::Exchange::digits; }
  // The number of transfers in which the ranks join what they have.
  std::uint32_t joins() const { return sum_.steps() - 1; }
  std::uint32_t sums() const { return sums_digits() ? BlockDigits::kTransfers : 1; }

  sparse::BlockSum sum_;
  BlockDigits digits_;  // used if sums_digits()
  Staging staging_;
  LaunchTerms terms_;
  base::Instant joined_;           // when the union was known
  sparse::Opinions opinions_ = 0;  // the opinions of all ranks, once they are joined
};

}  // namespace infold::rank
