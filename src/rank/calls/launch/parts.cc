// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/parts.h"

#include <cstring>

namespace infold::rank {

Result<LaunchOutline> PartsLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  if (terms.format.exchange == encoding::Exchange::exponents) {
    return tl::unexpected(
        Error{Code::unsupported, "fixed32 cannot be scattered; choose another wire format"});
  }
  request_ = request;
  terms_ = terms;
  const CallRequest own = part_of(request, terms.rank, terms.rank);
  own_ = tensor_transfer(own, terms);
  LaunchOutline outline;
  outline.transfers = static_cast<std::uint32_t>(terms.world);
  outline.one_by_one = true;
  outline.elements = own_.elements;
  outline.input_survives = staging_.stage(own_, request.options.keep_input);

  const bool gathers = request.collective == core::Collective::broadcast;
  if (gathers && request.input.elements > 0) {
    const std::size_t bytes = request.input.elements * element_bytes(request.input.type);
    std::byte* const place =
        static_cast<std::byte*>(request.output.data) + static_cast<std::size_t>(terms.rank) * bytes;
    if (place != own.input.data) std::memcpy(place, own.input.data, bytes);
  }
  return outline;
}

core::TransferRequest PartsLaunch::transfer(std::uint32_t number, core::TransferId) {
  const int root = static_cast<int>(number);
  if (root == terms_.rank) return own_;
  return tensor_transfer(part_of(request_, root, terms_.rank), terms_);
}

std::optional<Error> PartsLaunch::deliver() {
  staging_.deliver();
  return std::nullopt;
}

}  // namespace infold::rank
