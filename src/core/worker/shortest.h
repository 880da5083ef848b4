// SPDX-License-Identifier: Apache-2.0
//
// The shortest duration seen so far, if there was any.
#pragma once

#include <algorithm>
#include <optional>

#include "base/instant.h"

namespace infold::core {

class Shortest {
 public:
  void add(base::Duration sample) { least_ = least_ ? std::min(*least_, sample) : sample; }
  void clear() { least_.reset(); }

  explicit operator bool() const { return least_.has_value(); }
  base::Duration operator*() const { return *least_; }

 private:
  std::optional<base::Duration> least_;
};

}  // namespace infold::core
