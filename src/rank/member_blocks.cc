// SPDX-License-Identifier: Apache-2.0
//
// Sums that leave out zeros: from a request to transfers that need one another, and from the end of
// each to the next.
#include <new>

#include "io/host/clock.h"
#include "rank/member.h"

namespace infold::rank {

std::optional<Error> Member::launch_blocks(Call& call, const CallRequest& request,
                                           const FormatChoice& choice) {
  Call::Description& description = call.description;
  description.composed = true;
  description.elements = request.input.elements;
  description.output = request.output.data;
  description.output_bytes = description.elements * element_bytes(request.input.type);

  core::TransferRequest dense = blank_transfer(call, request, choice);
  dense.elements = request.input.elements;
  dense.input = static_cast<const std::byte*>(request.input.data);
  dense.output = static_cast<std::byte*>(request.output.data);
  const bool same = dense.input == dense.output;
  const bool overlaps =
      overlap(dense.input, description.output_bytes, dense.output, description.output_bytes);
  const bool stages = overlaps && (request.options.keep_input || !same);
  call.input_survives = stages || !overlaps;
  return begin_block_sum(call, {.dense = dense, .stages = stages});
}

std::optional<Error> Member::begin_block_sum(Call& call, const sparse::BlockSum::Work& work) {
  sparse::BlockSum::Work in_job = work;
  in_job.rank = static_cast<std::uint32_t>(rank());
  in_job.world = static_cast<std::uint32_t>(world());
  if (!call.block_sum) call.block_sum = std::make_unique<sparse::BlockSum>();
  call.block_sum->begin(in_job);
  call.block_steps = call.block_sum->steps();

  const base::Result<void> submitted = submit_blocks(call);
  if (!submitted && call.first_transfer == core::TransferId::none) {
    call.block_steps = 0;
    return Error{submitted.error().code, submitted.error().detail};
  }
  return std::nullopt;
}

// All steps at once, so that none is done before the next has its place. Should one be refused that
// is not the first, the job ends, and the events of those before it finish the call.
base::Result<void> Member::submit_blocks(Call& call) {
  const bool asks = call.choice && call.choice->asks;
  const std::uint32_t transfers = call.block_steps + (asks ? 1 : 0);
  return submit_when_there_is_room([&](core::Worker& worker, base::Instant now) {
    if (!worker.failure() && !worker.has_room_for(transfers)) {
      return base::Result<void>(base::fail(base::Code::resource_exhausted, "submit",
                                           "too many calls in flight; wait for one"));
    }
    for (std::uint32_t step = 0; step < transfers; ++step) {
      const auto id = worker.submit(
          now, step < call.block_steps ? call.block_sum->step(step) : opinions_request(call));
      if (!id) {
        if (step > 0) worker.cancel(now);
        return base::Result<void>(tl::unexpected(id.error()));
      }
      note_submitted(call, *id);
    }
    return base::Result<void>();
  });
}

void Member::begin_next_step(Call& call, std::uint32_t done) {
  std::uint64_t elements = 0;
  bool has_memory = true;
  try {
    elements = call.block_sum->size_after(done);
    const bool is_last = done + 2 == call.block_steps;
    if (is_last) call.joined = io::monotonic_now();
    if (is_last && call.block_sum->staged_bytes() > 0) {
      call.staging = scratch_->take(call.block_sum->staged_bytes());
      call.block_sum->stage(call.staging.bytes.get());
    }
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  const auto next = core::TransferId{static_cast<std::uint64_t>(call.first_transfer) + done + 1};
  driver_->with_worker([&](core::Worker& worker, base::Instant now) {
    if (has_memory) {
      worker.set_size(next, elements, call.block_sum->own_after(done));
    } else {
      worker.cancel(now);
    }
  });
}

}  // namespace infold::rank
