// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/list.h"

namespace infold::rank {

Result<LaunchOutline> ListLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  if (terms.format.exchange == encoding::Exchange::exponents) {
    return tl::unexpected(
        Error{Code::unsupported, "fixed32 cannot carry a list; choose another wire format"});
  }
  blank_ = blank_transfer(request, terms);
  stages_ = request.options.keep_input;
  LaunchOutline outline;
  outline.one_by_one = true;
  outline.composed = true;
  // Integers do not share an exponent with their neighbours.
  const core::ElementLayout layout = terms.format.layout;
  const std::size_t block = layout.is_block_float() ? layout.block_elements() : 1;
  for (const MutableTensorView& tensor : request.list) {
    outline.elements += tensor.elements;
    if (tensor.elements > Fusion::kElementsMax) {
      large_.push_back({tensor, 0});
    } else {
      fusion_.fuse(tensor, block);
    }
  }
  outline.transfers = static_cast<std::uint32_t>(large_.size()) + 1;
  outline.input_survives = stages_ || large_.empty();
  if (stages_) {
    for (Large& large : large_) large.staged_at = fusion_.stage(large.tensor);
  }
  if (fusion_.bytes() > 0) fusion_.gather(staging_.take(fusion_.bytes()));
  return outline;
}

core::TransferRequest ListLaunch::transfer(std::uint32_t number, core::TransferId) {
  core::TransferRequest transfer = blank_;
  if (number == 0) {
    transfer.elements = fusion_.fused_elements();
    transfer.input = transfer.output = staging_.data();
    return transfer;
  }
  const Large& large = large_[number - 1];
  auto* const own = static_cast<std::byte*>(large.tensor.data);
  transfer.elements = large.tensor.elements;
  transfer.input = own;
  transfer.output = stages_ ? staging_.data() + large.staged_at : own;
  return transfer;
}

std::optional<Error> ListLaunch::deliver() {
  if (staging_.data() != nullptr) fusion_.scatter(staging_.data());
  return std::nullopt;
}

void ListLaunch::clear() {
  large_.clear();
  fusion_.clear();
  staging_.clear();
}

}  // namespace infold::rank
