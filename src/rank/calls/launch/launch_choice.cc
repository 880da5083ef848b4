// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/launch_choice.h"

#include <utility>

namespace infold::rank {
namespace {

template <typename Kind, typename... Pool>
Launch& made(std::unique_ptr<Kind>& launch, Pool&&... pool) {
  if (!launch) launch = std::make_unique<Kind>(std::forward<Pool>(pool)...);
  return *launch;
}

}  // namespace

Launch& LaunchChoice::choose(const CallRequest& request, const FormatChoice& format,
                             bool is_sparse) {
  if (request.encoded) return made(encoded_);
  if (request.rows) return made(rows_, pool_);
  if (is_sparse) return made(blocks_, *pool_);
  const bool sums_digits = format.exchange == encoding::Exchange::digits;
  if (sums_digits && DigitsLaunch::has_elements(request)) return made(digits_, *pool_);
  if (request.is_list) return made(list_, *pool_);
  if (request.in_parts) return made(parts_, *pool_);
  const bool agrees = format.exchange == encoding::Exchange::exponents;
  if (agrees && request.input.elements > 0) return made(agreed_, *pool_);
  return made(whole_, *pool_);
}

}  // namespace infold::rank
