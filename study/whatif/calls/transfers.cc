// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/calls/transfers.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "encoding/format_choice.h"
#include "study/sim/nodes/zeros.h"

namespace infold::whatif {
namespace {

using trace::CallShape;
using trace::CollectiveKind;

core::Collective collective_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::all_gather: return core::Collective::broadcast;
    case CollectiveKind::reduce:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce_scatter_block: return core::Collective::reduce;
    case CollectiveKind::barrier: return core::Collective::barrier;
    default: return core::Collective::all_reduce;
  }
}

encoding::FormatRequest format_request(const CallShape& shape, const Setting& setting) {
  encoding::FormatRequest request;
  request.collective = collective_of(shape.kind);
  request.type = shape.type;
  request.world = setting.ranks;
  if (request.collective == core::Collective::broadcast) return request;
  request.reduction = trace::reduction_of(shape.type);
  if (request.reduction == Reduction::average) request.wire = setting.wire;
  return request;
}

}  // namespace

std::optional<std::string> find_refusal(const CallShape& shape, const Setting& setting) {
  if (shape.kind == CollectiveKind::barrier) return std::nullopt;
  const auto choice = encoding::choose_format(format_request(shape, setting));
  if (!choice) return choice.error().message;
  if (choice->exchange != encoding::Exchange::none) {
    return std::string(choice->name) +
           " needs an exchange before the sum, which no prediction has; choose another wire format";
  }
  return std::nullopt;
}

// A call in parts makes one transfer for each rank, with that rank as root.
std::vector<core::TransferRequest> transfers_of(const CallShape& shape, const Setting& setting) {
  core::TransferRequest transfer;
  transfer.collective = collective_of(shape.kind);
  transfer.root = static_cast<std::uint16_t>(shape.root);
  if (shape.kind == CollectiveKind::barrier) return {transfer};
  const auto choice = encoding::choose_format(format_request(shape, setting));
  CHECK(choice.has_value());
  transfer.layout = choice->layout;
  transfer.reduction = choice->reduction;
  transfer.elements = shape.input;
  const bool scatters = shape.kind == CollectiveKind::reduce_scatter ||
                        shape.kind == CollectiveKind::reduce_scatter_block;
  if (!scatters && shape.kind != CollectiveKind::all_gather) return {transfer};
  if (scatters) transfer.elements = shape.output;
  std::vector<core::TransferRequest> transfers(setting.ranks, transfer);
  for (std::uint16_t root = 0; root < setting.ranks; ++root) transfers[root].root = root;
  return transfers;
}

void add_call(sim::WorkerNode& node, base::Instant now,
              const std::vector<core::TransferRequest>& transfers,
              const std::function<void()>& ended) {
  node.forget_finished();
  const auto left = std::make_shared<std::size_t>(transfers.size());
  for (const core::TransferRequest& transfer : transfers) {
    sim::Call call;
    call.at = now;
    call.request = transfer;
    sim::contribute_zeros(call.request);
    call.done = [left, ended] {
      if (--*left == 0) ended();
    };
    node.add_call(std::move(call));
  }
}

}  // namespace infold::whatif
