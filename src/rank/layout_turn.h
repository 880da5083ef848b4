// SPDX-License-Identifier: Apache-2.0
//
// The layout of a call that leaves it open, as AutomaticLayout keeps it in each Call. Only
// AutomaticLayout changes it, when the call is launched. Others read it after that.
#pragma once

#include <optional>

#include "base/instant.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

class LayoutTurn {
 public:
  LayoutTurn() = default;
  LayoutTurn(const LayoutTurn&) = delete;

  // Empty for a call that names its layout. It stays when the call is made again.
  const std::optional<sparse::LayoutChoice::Choice>& choice() const { return choice_; }
  base::Instant launched() const { return launched_; }

 private:
  friend class AutomaticLayout;
  friend class Call;  // which empties it

  LayoutTurn& operator=(const LayoutTurn&) = default;

  std::optional<sparse::LayoutChoice::Choice> choice_;
  bool begins_alone_ = false;
  base::Instant launched_;
};

}  // namespace infold::rank
