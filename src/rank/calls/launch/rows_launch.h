// SPDX-License-Identifier: Apache-2.0
//
// A sparse call whose caller gives only some rows of the tensor. The result is either rows or the
// whole tensor.
#pragma once

#include <memory>

#include "rank/calls/launch/sparse.h"
#include "rank/calls/rows_memory.h"

namespace infold::rank {

class RowsLaunch final : public SparseLaunch {
 public:
  explicit RowsLaunch(std::shared_ptr<ScratchPool> pool)
      : SparseLaunch(*pool), pool_(std::move(pool)) {}

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  std::optional<Error> deliver() override;
  void clear() override;

 private:
  void take_values(RowsMemory& result);

  std::shared_ptr<ScratchPool> pool_;
  Rows* output_ = nullptr;              // null if the result is not in rows
  std::unique_ptr<RowsMemory> result_;  // memory for a result in rows
};

}  // namespace infold::rank
