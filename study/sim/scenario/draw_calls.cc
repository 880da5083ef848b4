// SPDX-License-Identifier: Apache-2.0
//
// Draws the calls of a scenario's ranks.
#include <algorithm>
#include <cmath>

#include "study/sim/scenario/draw.h"

namespace infold::sim {
namespace {

using core::Collective;
using core::DataType;
using core::Reduction;
using core::WireFormat;

constexpr std::uint64_t kCallsMax = 24;

std::uint64_t draw_elements(std::uint64_t most, base::Prng& prng) {
  if (prng.chance(0.05)) return 0;
  // The draw is uniform in the logarithm, so that tensors with a few elements are as frequent as
  // tensors with many chunks.
  const double log = prng.uniform() * std::log2(static_cast<double>(most) + 1);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::exp2(log)), 1, most);
}

WireFormat draw_block_format(base::Prng& prng) {
  constexpr WireFormat kFormats[] = {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32};
  return kFormats[prng.below(3)];
}

// A larger number would change every seed's scenario.
constexpr std::uint64_t kReductionsDrawn = 4;

void draw_kind(CallPlan& call, std::uint16_t world, base::Prng& prng) {
  if (prng.chance(0.08)) {
    call.collective = Collective::barrier;
    call.elements = 0;
    call.layout = {WireFormat::i32, DataType::i32};
    return;
  }
  if (prng.chance(0.3)) {
    call.collective = prng.chance(0.5) ? Collective::reduce : Collective::broadcast;
    call.root = static_cast<std::uint16_t>(prng.below(world));
  }
  call.layout.dtype = static_cast<DataType>(prng.below(INFOLD_DTYPE_COUNT));
  if (call.collective != Collective::broadcast) {
    call.reduction = static_cast<Reduction>(prng.below(kReductionsDrawn));
  }
  const bool sums = call.reduction == Reduction::sum || call.reduction == Reduction::average;
  const bool as_blocks =
      core::is_float(call.layout.dtype) && sums && call.collective != Collective::broadcast;
  if (!as_blocks) {
    call.layout.format = core::integer_format(call.layout.dtype);
    return;
  }
  call.agreed = call.elements > 0 && prng.chance(0.15);
  call.layout.format = call.agreed ? WireFormat::i32 : draw_block_format(prng);
}

// This function and the next six reuse numbers that are already drawn, for the same reason.
Reduction draw_bit_or(const CallPlan& call) {
  const bool can_be =
      call.reduction == Reduction::max && call.elements > 0 && !core::is_float(call.layout.dtype);
  return can_be && base::mix64(call.values.seed + 1) % 2 == 0 ? Reduction::bit_or : call.reduction;
}

WireFormat draw_native(const CallPlan& call) {
  const bool can_be = call.layout.is_block_float() && base::mix64(call.values.seed + 4) % 3 == 0;
  return can_be ? WireFormat::native : call.layout.format;
}

bool draw_digits(const CallPlan& call) {
  return call.layout.is_block_float() && call.elements > 0 &&
         base::mix64(call.values.seed + 5) % 6 == 0;
}

bool draw_compressed(const CallPlan& call) {
  const bool is_sum = call.layout.is_block_float() || call.layout.is_native();
  const bool can_be = is_sum && call.collective == Collective::all_reduce && call.elements > 0;
  return can_be && !call.digits && base::mix64(call.values.seed + 6) % 4 == 0;
}

bool draw_size_later(const CallPlan& call) {
  const bool can_be = call.collective == Collective::all_reduce && call.elements > 0;
  return can_be && !call.agreed && !call.digits && base::mix64(call.values.seed + 2) % 5 == 0;
}

bool draw_sparse(const CallPlan& call) {
  const bool is_sum =
      call.collective == Collective::all_reduce || call.collective == Collective::reduce;
  const bool zeros_say_nothing =
      call.reduction != Reduction::min && call.reduction != Reduction::max;
  const bool can_be = is_sum && zeros_say_nothing && call.elements > 0 && !call.agreed &&
                      !call.digits && !call.compression;
  // If most blocks are zeros, most calls leave them out.
  const std::uint64_t share = call.values.kind == oracle::ValueKind::sparse ? 3 : 1;
  return can_be && base::mix64(call.values.seed + 3) % 4 < share;
}

core::Priority draw_priority(std::uint64_t values_seed) {
  switch (base::mix64(values_seed) % 8) {
    case 0: return core::Priority::urgent;
    case 1: return core::Priority::background;
    default: return core::Priority::automatic;
  }
}

}  // namespace

std::vector<CallPlan> draw_calls(std::uint16_t world, std::uint64_t element_budget,
                                 base::Prng& prng) {
  std::vector<CallPlan> calls;
  const std::uint64_t count = 1 + prng.below(kCallsMax);
  std::uint64_t left = std::max<std::uint64_t>(element_budget / world, 64);
  const bool in_place = prng.chance(0.2);
  const bool spread_out = prng.chance(0.3);
  while (calls.size() < count && left > 0) {
    CallPlan call;
    call.elements = draw_elements(left, prng);
    draw_kind(call, world, prng);
    call.in_place = in_place && call.elements > 0;
    call.after_previous = !calls.empty() && prng.chance(0.1);
    call.offset_bytes = prng.chance(0.3) ? static_cast<std::uint32_t>(prng.below(64)) : 0;
    if (spread_out) call.gap = base::microseconds(prng.between(0, 300));
    call.values = {.dtype = call.layout.dtype,
                   .kind = static_cast<oracle::ValueKind>(
                       prng.below(static_cast<std::uint64_t>(oracle::ValueKind::count_))),
                   .seed = prng.next()};
    call.priority = draw_priority(call.values.seed);
    call.reduction = draw_bit_or(call);
    call.layout.format = draw_native(call);
    call.digits = draw_digits(call);
    if (call.digits) call.layout.format = WireFormat::i32;
    const std::uint64_t drawn = call.elements;
    if (draw_compressed(call)) {
      base::Prng own(base::mix64(call.values.seed + 7));
      compress(call, own);
    }
    call.sized_by_previous = draw_size_later(call);
    call.is_sparse = draw_sparse(call);
    left -= std::min(left, drawn);
    calls.push_back(call);
  }
  return calls;
}

}  // namespace infold::sim
