// SPDX-License-Identifier: Apache-2.0
//
// A result that may fail for reasons that lie on this host. The error is a sentence for the person
// at the terminal; it names the part at fault and says what to do.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace infold::base {

template <typename T>
using Attempt = tl::expected<T, std::string>;

inline tl::unexpected<std::string> cannot(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

}  // namespace infold::base
