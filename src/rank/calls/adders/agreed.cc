// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/adders/agreed.h"

namespace infold::rank {

Result<LaunchOutline> AgreedLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  Result<LaunchOutline> outline = whole_.begin(request, terms);
  if (!outline) return outline;
  outline->transfers = 2;
  outline->composed = outline->exchanges = true;
  codes_ = agreement_.begin(whole_.transfer(0, core::TransferId::none));
  return outline;
}

core::TransferRequest AgreedLaunch::transfer(std::uint32_t number, core::TransferId before) {
  if (number == 0) return codes_;
  core::TransferRequest data = whole_.transfer(0, core::TransferId::none);
  data.after = before;
  data.codes = agreement_.codes();
  return data;
}

}  // namespace infold::rank
