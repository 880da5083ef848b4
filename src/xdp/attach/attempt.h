// SPDX-License-Identifier: Apache-2.0
//
// What may fail on this host, for reasons that name its interfaces: the error is a sentence for the
// person at the terminal, and says what to do.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace infold::xdp {

template <typename T>
using Attempt = tl::expected<T, std::string>;

inline tl::unexpected<std::string> cannot(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

}  // namespace infold::xdp
