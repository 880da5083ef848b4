// SPDX-License-Identifier: Apache-2.0
//
// Makes transfer requests from call plans, and verdicts from results.
#include "study/sim/scenario/job.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "encoding/digits.h"
#include "numeric/codec.h"
#include "study/oracle/oracle.h"
#include "study/sim/network/checksum.h"
#include "study/sim/nodes/agreed_codes.h"
#include "study/sim/scenario/difference.h"

namespace infold::sim {
namespace {

using core::Collective;
using core::ElementLayout;

std::uint64_t tensor_bytes(const CallPlan& call) {
  return call.elements * element_bytes(call.layout.dtype);
}

const core::TensorCodec* codec_of(const CallPlan& call, std::uint16_t world) {
  if (call.elements == 0) return nullptr;
  const core::TensorCodec* codec =
      call.digits ? encoding::Digits::codec(world)
      : call.agreed
          ? numeric::agreed_codec(call.layout.dtype, call.reduction, world)
          : numeric::codec(call.layout.dtype, call.layout.format, call.reduction, call.collective);
  CHECK(codec != nullptr);
  return codec;
}

// Returns the call that the incident's rank makes instead of the right one.
core::TransferRequest wrong(core::TransferRequest request, const Incident& incident,
                            std::uint16_t world) {
  switch (incident.kind) {
    case Incident::Kind::wrong_size: --request.elements; break;
    case Incident::Kind::wrong_type:
      request.layout.dtype =
          request.layout.dtype == core::DataType::i32 ? core::DataType::f32 : core::DataType::i32;
      break;
    case Incident::Kind::wrong_operation:
      request.reduction = request.reduction == core::Reduction::sum ? core::Reduction::average
                                                                    : core::Reduction::sum;
      break;
    case Incident::Kind::wrong_root:
      request.root = static_cast<std::uint16_t>((request.root + 1) % world);
      // A rank that takes itself for a broadcast's root sends from the buffer in which it would
      // receive.
      if (request.input == nullptr) request.input = request.output;
      break;
    default: break;
  }
  return request;
}

}  // namespace

Job::Job(const Scenario& scenario)
    : scenario_(scenario),
      tensors_(scenario.calls.size() * scenario.plan.world),
      compressed_(scenario.calls.size()) {
  for (std::uint32_t call = 0; call < scenario.calls.size(); ++call) {
    if (scenario.calls[call].compression) {
      add_compressed(call);
      continue;
    }
    for (std::uint16_t rank = 0; rank < scenario.plan.world; ++rank) fill(call, rank);
    const auto& digits = tensors(call, 0).digits;
    const bool has_ranges = digits && digits->has_range_transfer();
    if (scenario.calls[call].agreed || has_ranges) steps_.push_back({call, true});
    steps_.push_back({call, false});
  }
}

void Job::add_compressed(std::uint32_t call) {
  std::vector<std::uint16_t> value_ranks;
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    value_ranks.push_back(value_rank(scenario_.calls[call], rank));
  }
  compressed_[call] = std::make_unique<CompressedCall>(scenario_.calls[call], value_ranks);
  const std::uint32_t legs = compressed_[call]->leg_count();
  for (std::uint32_t leg = 0; leg < legs; ++leg) steps_.push_back({call, leg + 1 < legs, leg});
}

bool Job::contributes(const CallPlan& call, std::uint16_t rank) const {
  if (call.elements == 0) return false;
  return call.collective != Collective::broadcast || call.root == rank;
}

bool Job::receives(const CallPlan& call, std::uint16_t rank) const {
  if (call.elements == 0) return false;
  return call.collective != Collective::reduce || call.root == rank;
}

std::uint16_t Job::value_rank(const CallPlan& call, std::uint16_t rank) const {
  return call.value_rank.empty() ? rank : call.value_rank[rank];
}

void Job::fill(std::uint32_t index, std::uint16_t rank) {
  const CallPlan& call = scenario_.calls[index];
  Tensors& own = tensors(index, rank);
  if (!call.present.empty()) own.present = call.present[rank];
  if (call.bulk && rank > 0) return;
  const std::size_t bytes = tensor_bytes(call);
  if (contributes(call, rank) || call.in_place) own.input.resize(call.offset_bytes + bytes);
  if (contributes(call, rank)) {
    oracle::fill_values(call.values, value_rank(call, rank),
                        std::span(own.input).subspan(call.offset_bytes));
  }
  if (receives(call, rank) && !call.in_place) own.output.resize(call.offset_bytes + bytes);
  const std::uint32_t blocks = call.layout.block_count(static_cast<std::uint32_t>(call.elements));
  if (call.is_sparse && call.present.empty() && contributes(call, rank)) {
    own.present.resize(core::BlockSet::word_count(blocks));
    numeric::find_presence(call.layout.dtype, own.input.data() + call.offset_bytes, call.elements,
                           own.present.data());
  }
  if (call.digits) {
    own.digits = std::make_unique<encoding::Digits>();
    own.digits->begin(
        {.tensor = main_request_of(index, rank),
         .wanted = call.elements,
         .world = scenario_.plan.world,
         .packet_integers = core::chunk_elements(call.layout, plan::limits_of(scenario_.plan))});
  }
  if (!call.agreed) return;
  own.own_codes.resize(blocks);
  own.agreed_codes.resize(blocks);
  numeric::block_codes(call.layout.dtype, own.input.data() + call.offset_bytes,
                       {0, static_cast<std::uint32_t>(call.elements)}, own.own_codes.data());
}

core::TransferRequest Job::main_request_of(std::uint32_t index, std::uint16_t rank) const {
  const CallPlan& call = scenario_.calls[index];
  // The worker writes results through this pointer, which the job handed out for that purpose.
  auto& own = const_cast<Tensors&>(tensors(index, call.bulk ? std::uint16_t{0} : rank));
  core::TransferRequest request;
  request.collective = call.collective;
  request.reduction = call.reduction;
  request.layout = call.layout;
  request.elements = call.elements;
  request.root = call.root;
  request.codec = codec_of(call, scenario_.plan.world);
  if (contributes(call, rank)) request.input = own.input.data() + call.offset_bytes;
  if (receives(call, rank)) {
    request.output = (call.in_place ? own.input : own.output).data() + call.offset_bytes;
  }
  if (call.agreed) request.codes = own.agreed_codes.data();
  const std::vector<std::uint32_t>& present =
      call.present.empty() ? own.present : tensors(index, rank).present;
  if (!present.empty()) request.present = present.data();
  request.priority = call.priority;
  return request;
}

std::uint64_t Job::Tensors::plan_digits() {
  integers = digits->plan();
  sums.resize(digits->sums_bytes());
  digits->set_sums(sums.data());
  return integers;
}

// Returns the transfer of codes, or of ranges of digits.
core::TransferRequest Job::first_request_of(std::uint32_t index, std::uint16_t rank) const {
  const auto& digits = tensors(index, rank).digits;
  if (digits) return digits->range_transfer();
  auto& own = const_cast<Tensors&>(tensors(index, rank));
  core::TransferRequest request;
  request.reduction = core::Reduction::max;
  request.layout = {core::WireFormat::i32, core::DataType::i32};
  request.elements = own.own_codes.size() * 2;
  request.codec = &agreed_codes_codec();
  request.input = reinterpret_cast<const std::byte*>(own.own_codes.data());
  request.output = reinterpret_cast<std::byte*>(own.agreed_codes.data());
  return request;
}

core::TransferRequest Job::request_of(const Step& step, std::uint16_t rank) const {
  if (const auto& compressed = compressed_[step.call]) {
    core::TransferRequest request = compressed->request_of(step.leg, rank);
    request.priority = scenario_.calls[step.call].priority;
    return request;
  }
  if (step.agrees) return first_request_of(step.call, rank);
  const auto& digits = tensors(step.call, rank).digits;
  return digits ? digits->digit_transfer() : main_request_of(step.call, rank);
}

std::deque<Call> Job::calls_of(std::uint16_t rank) const {
  std::deque<Call> calls;
  base::Instant at;
  if (!scenario_.starts.empty()) at = at + scenario_.starts[rank];
  for (const Step& step : steps_) {
    const CallPlan& plan = scenario_.calls[step.call];
    const bool is_later = !calls.empty() && steps_[calls.size() - 1].call == step.call;
    if (!is_later) at = at + plan.gap;
    Call call;
    call.at = at;
    call.request = request_of(step, rank);
    call.after_previous = is_later ? plan.agreed : plan.after_previous;
    call.sized_by_previous = plan.sized_by_previous;
    if (plan.digits) {
      auto& own = const_cast<Tensors&>(tensors(step.call, rank));
      call.sized_by_previous = is_later;
      call.size = [&own] { return own.plan_digits(); };
    }
    if (CompressedCall* const compressed = compressed_[step.call].get()) {
      const std::uint32_t leg = step.leg;
      call.sized_by_previous = is_later || plan.sized_by_previous;
      if (is_later) call.size = [=] { return compressed->begin_leg(leg, rank); };
      call.done = [=] { compressed->end_leg(leg, rank); };
    }
    call.deadline = plan.deadline;
    calls.push_back(call);
  }
  if (scenario_.incident.rank == rank) apply_incident(rank, calls);
  return calls;
}

void Job::apply_incident(std::uint16_t, std::deque<Call>& calls) const {
  const Incident& incident = scenario_.incident;
  std::size_t entry = 0;
  while (entry < steps_.size() && (steps_[entry].call != incident.call || steps_[entry].agrees)) {
    ++entry;
  }
  if (entry >= calls.size()) return;
  if (incident.kind == Incident::Kind::never_calls) {
    calls.resize(entry);
  } else {
    calls[entry].request = wrong(calls[entry].request, incident, scenario_.plan.world);
  }
}

std::span<const std::byte> Job::result(std::uint32_t index, std::uint16_t rank) const {
  const CallPlan& call = scenario_.calls[index];
  if (compressed_[index]) return compressed_[index]->mean_of(rank);
  if (!receives(call, rank)) return {};
  const Tensors& own = tensors(index, rank);
  return std::span(call.in_place ? own.input : own.output).subspan(call.offset_bytes);
}

std::uint16_t Job::ranks_summed(const Step& step) const {
  const CallPlan& call = scenario_.calls[step.call];
  if (call.elements == 0) return 0;
  if (const auto& compressed = compressed_[step.call]) {
    return compressed->elements_of(step.leg) == 0 ? std::uint16_t{0} : scenario_.plan.world;
  }
  // Groups of zeros have no digits.
  if (!step.agrees && tensors(step.call, 0).integers == 0) return 0;
  return call.collective == Collective::broadcast ? std::uint16_t{1} : scenario_.plan.world;
}

std::string Job::compare(const Step& step) const {
  const CallPlan& call = scenario_.calls[step.call];
  if (call.elements == 0 || call.bulk) return "";
  if (const auto& compressed = compressed_[step.call]) {
    const std::string fault = compressed->compare(step.leg);
    return fault.empty() ? "" : fmt::format("wrong result of call {} {}", step.call, fault);
  }
  // Wrong ranges would lead to wrong results, so they need no check here.
  if (step.agrees) return call.digits ? "" : compare_codes(step.call);
  // Makes the inputs again, because in-place results have replaced them.
  std::vector<std::vector<std::byte>> inputs;
  oracle::Request request{.layout = call.layout,
                          .collective = call.collective,
                          .reduction = call.reduction,
                          .agreed = call.agreed,
                          .world = scenario_.plan.world,
                          .elements = call.elements,
                          .inputs = {}};
  if (call.digits) request.layout.format = core::WireFormat::native;
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    if (!contributes(call, rank)) continue;
    inputs.emplace_back(tensor_bytes(call));
    oracle::fill_values(call.values, value_rank(call, rank), inputs.back());
    request.inputs.push_back(inputs.back().data());
  }
  std::vector<std::byte> expected(tensor_bytes(call));
  oracle::expected_result(request, expected);
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    const auto got = result(step.call, rank);
    if (got.empty()) continue;
    const std::string difference =
        first_difference(got, expected, element_bytes(call.layout.dtype));
    if (!difference.empty()) {
      return fmt::format("wrong result of call {} at rank {}: {}", step.call, rank, difference);
    }
  }
  return "";
}

std::string Job::compare_codes(std::uint32_t index) const {
  const CallPlan& call = scenario_.calls[index];
  const std::vector<std::uint16_t>& first = tensors(index, 0).own_codes;
  std::vector<std::uint16_t> expected(first.size());
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    for (std::size_t block = 0; block < expected.size(); ++block) {
      const std::uint16_t own = tensors(index, rank).own_codes[block];
      const int code = std::max(expected[block] & 0x7FFF, own & 0x7FFF);
      expected[block] = static_cast<std::uint16_t>(code | ((expected[block] | own) & 0x8000));
    }
  }
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    if (tensors(index, rank).agreed_codes != expected) {
      return fmt::format("wrong agreed codes of call {} ({} elements) at rank {}", index,
                         call.elements, rank);
    }
  }
  return "";
}

std::string Job::compare_inputs(const Step& step) const {
  const CallPlan& call = scenario_.calls[step.call];
  if (const auto& compressed = compressed_[step.call]) {
    const std::string fault = compressed->compare_inputs();
    if (fault.empty()) return "";
    return fmt::format("call {} failed and changed the input {}", step.call, fault);
  }
  if (step.agrees || call.in_place || call.bulk) return "";
  std::vector<std::byte> before(tensor_bytes(call));
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    if (!contributes(call, rank)) continue;
    oracle::fill_values(call.values, value_rank(call, rank), before);
    const auto now = std::span(tensors(step.call, rank).input).subspan(call.offset_bytes);
    if (std::memcmp(now.data(), before.data(), before.size()) != 0) {
      return fmt::format("call {} failed and changed the input of rank {}", step.call, rank);
    }
  }
  return "";
}

std::uint64_t Job::hash() const {
  std::uint64_t hash = 0;
  for (const Tensors& own : tensors_) {
    hash = hash_bytes(own.input, hash);
    hash = hash_bytes(own.output, hash);
  }
  for (const auto& compressed : compressed_) {
    if (!compressed) continue;
    for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
      hash = hash_bytes(compressed->mean_of(rank), hash);
    }
  }
  return hash;
}

}  // namespace infold::sim
