// SPDX-License-Identifier: Apache-2.0
//
// The launches of one Call object, which serves one call after another. It has at most one launch
// of each kind, makes it when a call first needs it, and keeps it. Not thread-safe.
#pragma once

#include <memory>

#include "rank/calls/adders/agreed.h"
#include "rank/calls/adders/digits.h"
#include "rank/calls/launch/blocks.h"
#include "rank/calls/launch/encoded.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/launch/list.h"
#include "rank/calls/launch/parts.h"
#include "rank/calls/launch/rows_launch.h"
#include "rank/calls/launch/whole.h"

namespace infold::rank {

class LaunchChoice {
 public:
  explicit LaunchChoice(std::shared_ptr<ScratchPool> pool) : pool_(std::move(pool)) {}

  // The launch for a sound request. Throws std::bad_alloc.
  Launch& choose(const CallRequest& request, const FormatChoice& format, bool is_sparse);

 private:
  std::shared_ptr<ScratchPool> pool_;
  std::unique_ptr<WholeLaunch> whole_;
  std::unique_ptr<AgreedLaunch> agreed_;
  std::unique_ptr<DigitsLaunch> digits_;
  std::unique_ptr<EncodedLaunch> encoded_;
  std::unique_ptr<PartsLaunch> parts_;
  std::unique_ptr<ListLaunch> list_;
  std::unique_ptr<BlocksLaunch> blocks_;
  std::unique_ptr<RowsLaunch> rows_;
};

}  // namespace infold::rank
