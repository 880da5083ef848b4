// SPDX-License-Identifier: Apache-2.0
//
// From a request to transfers.
#include <algorithm>
#include <cstring>

#include "io/host/clock.h"
#include "rank/member.h"

namespace infold::rank {

std::optional<Error> Member::launch(Call& call, const CallRequest& request) {
  const Result<FormatChoice> choice =
      request.collective == core::Collective::barrier
          ? FormatChoice{}
          : codec::choose_format({request.collective, request.input.type, request.options.reduction,
                                  request.options.wire, options_.wire,
                                  static_cast<std::uint32_t>(world())});
  if (!choice) return choice.error();

  bool is_sparse = request.rows || request.options.layout == Layout::blocks;
  if (is_sparse) {
    if (std::optional<Error> error = refuse_sparse(request, *choice)) return error;
  }
  if (request.rows) return launch_rows(call, request, *choice);
  if (leaves_layout_open(request, *choice)) {
    if (std::optional<Error> error = choose_layout(call, request, *choice)) return error;
    // The choice is made in any case: ranks whose job comes back at other sites count alike.
    is_sparse = call.choice->is_sparse && sparse_obstacle_.empty();
  }
  if (is_sparse) return launch_blocks(call, request, *choice);
  if (request.is_list) return launch_list(call, request, *choice);
  return request.in_parts ? launch_parts(call, request, *choice)
                          : launch_whole(call, request, *choice);
}

std::optional<Error> Member::launch_whole(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  core::TransferRequest data = transfer_of(call, request, choice);
  if (choice.agreed && data.elements > 0) {
    call.description.composed = true;
    core::TransferRequest agreement = call.agreement.begin(data);
    const base::Result<core::TransferId> id = submit(agreement, nullptr);
    if (!id) return Error{id.error().code, id.error().detail};
    data.after = *id;
    data.codes = call.agreement.codes();
  }
  const base::Result<core::TransferId> id = submit(data, &call);
  if (!id) return Error{id.error().code, id.error().detail};
  return std::nullopt;
}

// Several transfers behind one call. Should one be refused, those before it are in flight: then the
// job ends, and their events finish the call.
template <typename TransferAt>
std::optional<Error> Member::submit_all(Call& call, std::size_t count, TransferAt&& transfer_at) {
  // While transfers are still being submitted, one more is left than there are.
  driver_->with_worker([&](core::Worker&, base::Instant) {
    active_.push_back(&call);
    call.transfers_left = 1;
  });
  std::optional<Error> refused;
  for (std::size_t i = 0; i < count && !refused; ++i) {
    core::TransferRequest transfer = transfer_at(i);
    const base::Result<core::TransferId> id = submit(transfer, &call);
    if (!id) refused = Error{id.error().code, id.error().detail};
  }
  const bool is_over = driver_->with_worker([&](core::Worker& worker, base::Instant now) {
    if (refused && call.first_transfer != core::TransferId::none) worker.cancel(now);
    if (--call.transfers_left > 0) return false;
    active_.erase(std::find(active_.begin(), active_.end(), &call));
    return true;
  });
  if (call.first_transfer == core::TransferId::none) return refused;
  if (is_over) conclude(call, io::monotonic_now());
  return std::nullopt;
}

// One transfer with each rank as root.
std::optional<Error> Member::launch_parts(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  if (choice.agreed) {
    return Error{Code::unsupported, "fixed32 cannot be scattered; choose another wire format"};
  }
  const bool gathers = request.collective == core::Collective::broadcast;
  if (gathers && request.input.elements > 0) {
    const CallRequest own = part_of(request, rank(), rank());
    const std::size_t bytes = request.input.elements * element_bytes(request.input.type);
    std::byte* const place =
        static_cast<std::byte*>(request.output.data) + static_cast<std::size_t>(rank()) * bytes;
    if (place != own.input.data) std::memcpy(place, own.input.data, bytes);
  }
  return submit_all(call, static_cast<std::size_t>(world()), [&](std::size_t root) {
    return transfer_of(call, part_of(request, static_cast<int>(root), rank()), choice);
  });
}

// One transfer for all small tensors, and one for each large one.
std::optional<Error> Member::launch_list(Call& call, const CallRequest& request,
                                         const FormatChoice& choice) {
  if (choice.agreed) {
    return Error{Code::unsupported, "fixed32 cannot carry a list; choose another wire format"};
  }
  call.description.composed = true;
  const bool stages = request.options.keep_input;
  // An integer shares nothing with its neighbours.
  const std::size_t block = choice.layout.is_block_float() ? choice.layout.block_elements() : 1;
  for (const MutableTensorView& tensor : request.list) {
    call.description.elements += tensor.elements;
    if (tensor.elements > Fusion::kElementsMax) {
      call.large.push_back({tensor, 0});
    } else {
      call.fusion.fuse(tensor, block);
    }
  }
  call.input_survives = stages || call.large.empty();
  if (stages) {
    for (Call::Large& large : call.large) large.staged_at = call.fusion.stage(large.tensor);
  }
  if (call.fusion.bytes() > 0) call.staging = scratch_->take(call.fusion.bytes());
  std::byte* const staging = call.staging.bytes.get();
  if (staging != nullptr) call.fusion.gather(staging);

  return submit_all(call, call.large.size() + 1, [&](std::size_t i) {
    core::TransferRequest transfer = blank_transfer(call, request, choice);
    if (i == 0) {
      transfer.elements = call.fusion.fused_elements();
      transfer.input = transfer.output = staging;
      return transfer;
    }
    const Call::Large& large = call.large[i - 1];
    auto* const own = static_cast<std::byte*>(large.tensor.data);
    transfer.elements = large.tensor.elements;
    transfer.input = own;
    transfer.output = stages ? staging + large.staged_at : own;
    return transfer;
  });
}

core::TransferRequest Member::transfer_of(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  const bool rooted = request.collective == core::Collective::reduce ||
                      request.collective == core::Collective::broadcast;
  const bool is_root = request.root == rank();
  const bool broadcasts = request.collective == core::Collective::broadcast;
  const bool wants_result = broadcasts ? !is_root : !rooted || is_root;
  const bool contributes = !broadcasts || is_root;

  Call::Description& description = call.description;
  description.elements = request.input.elements;
  core::TransferRequest transfer = blank_transfer(call, request, choice);
  if (wants_result && description.elements > 0) {
    description.output = request.output.data;
    description.output_bytes = description.elements * element_bytes(request.input.type);
    const bool overlaps = contributes && overlap(request.input.data, description.output_bytes,
                                                 request.output.data, description.output_bytes);
    // Over the same elements, each is encoded before its result comes; over others, it may not be.
    const bool same = request.input.data == request.output.data;
    if (overlaps && (request.options.keep_input || !same)) {
      call.staging = scratch_->take(description.output_bytes);
    }
    if (overlaps && !call.staging.bytes) call.input_survives = false;
    transfer.output =
        call.staging.bytes ? call.staging.bytes.get() : static_cast<std::byte*>(description.output);
  }

  transfer.elements = request.input.elements;
  transfer.root = static_cast<std::uint16_t>(rooted ? request.root : 0);
  if (contributes) transfer.input = static_cast<const std::byte*>(request.input.data);
  return transfer;
}

// All but whose tensor it is.
core::TransferRequest Member::blank_transfer(const Call& call, const CallRequest& request,
                                             const FormatChoice& choice) const {
  core::TransferRequest transfer;
  transfer.collective = request.collective;
  transfer.reduction = choice.reduction;
  transfer.layout = choice.layout;
  transfer.codec = choice.codec;
  transfer.encoding = request.options.encoding;
  transfer.priority = request.options.priority;
  transfer.deadline = call.description.deadline;
  return transfer;
}

base::Result<core::TransferId> Member::submit(core::TransferRequest& request, Call* call) {
  return submit_when_there_is_room([&](core::Worker& worker, base::Instant now) {
    const base::Result<core::TransferId> submitted = worker.submit(now, request);
    if (submitted && call != nullptr) note_submitted(*call, *submitted);
    return submitted;
  });
}

// By the driver's lock.
void Member::note_submitted(Call& call, core::TransferId id) {
  if (call.transfers_left++ == 0) active_.push_back(&call);
  if (call.first_transfer == core::TransferId::none) call.first_transfer = id;
  call.last_transfer = id;
}

}  // namespace infold::rank
