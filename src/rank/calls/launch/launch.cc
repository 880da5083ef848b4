// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/launch.h"

namespace infold::rank {

core::TransferRequest blank_transfer(const CallRequest& request, const LaunchTerms& terms) {
  core::TransferRequest transfer;
  transfer.collective = request.collective;
  transfer.reduction = terms.format.reduction;
  transfer.layout = terms.format.layout;
  transfer.codec = terms.format.codec;
  transfer.encoding = request.options.encoding;
  transfer.priority = request.options.priority;
  transfer.deadline = terms.deadline;
  return transfer;
}

core::TransferRequest tensor_transfer(const CallRequest& request, const LaunchTerms& terms) {
  const bool broadcasts = request.collective == core::Collective::broadcast;
  const bool rooted = broadcasts || request.collective == core::Collective::reduce;
  const bool is_root = request.root == terms.rank;
  const bool wants_result = broadcasts ? !is_root : !rooted || is_root;
  const bool contributes = !broadcasts || is_root;

  core::TransferRequest transfer = blank_transfer(request, terms);
  transfer.elements = request.input.elements;
  transfer.root = static_cast<std::uint16_t>(rooted ? request.root : 0);
  if (contributes) transfer.input = static_cast<const std::byte*>(request.input.data);
  if (wants_result && transfer.elements > 0) {
    transfer.output = static_cast<std::byte*>(request.output.data);
  }
  return transfer;
}

}  // namespace infold::rank
