// SPDX-License-Identifier: Apache-2.0
#include "study/measure/verify_battery.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/prng.h"
#include "core/adder/adder.h"
#include "encoding/format_choice.h"
#include "study/oracle/oracle.h"
#include "study/oracle/oracle_float.h"

namespace infold::measure {
namespace {

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                               DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
// For sums of floats, automatic stands for native or digits, which give the same bits.
constexpr WireFormat kWires[] = {WireFormat::automatic, WireFormat::native, WireFormat::digits,
                                 WireFormat::bfp32,     WireFormat::bfp16,  WireFormat::bfp8,
                                 WireFormat::fixed32};
constexpr int kValues = 4;
// For sparse tensors: one in `kStretchesPerFull` stretches has elements that are not zero, and a
// stretch has `kStretch` elements. Stretches do not align with blocks or rows.
constexpr std::uint64_t kStretch = 44;
constexpr std::uint64_t kStretchesPerFull = 6;

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}

bool is_rooted(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast;
}

Result<encoding::FormatChoice> format_of(const VerifyCase& each, int world) {
  encoding::FormatRequest request;
  request.collective = each.collective == Collective::all_reduce ? core::Collective::all_reduce
                                                                 : core::Collective::reduce;
  request.type = each.type;
  request.reduction = each.reduction;
  request.wire = each.wire;
  request.world = static_cast<std::uint32_t>(world);
  return encoding::choose_format(request);
}

bool can_be_asked(const VerifyCase& each, int world) {
  const auto format = format_of(each, world);
  if (!format) return false;
  if (each.is_sparse) {
    const bool zeros_count = each.reduction == Reduction::min || each.reduction == Reduction::max;
    return format->exchange != encoding::Exchange::exponents && !zeros_count;
  }
  return format->exchange != encoding::Exchange::exponents ||
         each.collective != Collective::reduce_scatter;
}

// Adds the case at every size. Roots, values and places take turns.
void append_sizes(const BatteryOptions& options, VerifyCase each, std::vector<VerifyCase>& cases) {
  for (const std::uint64_t elements : options.elements) {
    const auto turn = static_cast<int>(cases.size());
    each.elements = elements;
    each.root = is_rooted(each.collective) ? turn % options.world : 0;
    each.values = static_cast<Values>(turn % kValues);
    each.in_place = turn % 3 == 1 && each.collective == Collective::all_reduce && !each.is_sparse;
    each.seed = base::mix64(options.seed + 0x9E3779B97F4A7C15ULL * cases.size());
    cases.push_back(each);
  }
}

double special_value(base::Prng& prng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (prng.below(5)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return kInfinity;
    case 2: return -kInfinity;
    case 3: return -0.0;
    default: return std::ldexp(1.0, -140);  // subnormal in f32, zero in f16
  }
}

double value_of(const VerifyCase& each, int rank, base::Prng& prng) {
  // The largest f16 is 65504, and a sum over 256 ranks must stay below it.
  const bool narrow = each.type == DataType::f16;
  const double plain = 2 * prng.uniform() - 1;
  switch (each.values) {
    case Values::plain: return plain;
    case Values::wide: {
      const std::int64_t most = narrow ? 6 : 20;
      return std::ldexp(plain, static_cast<int>(prng.between(-most, most)));
    }
    case Values::apart: return std::ldexp(plain, -(rank % 5) * (narrow ? 3 : 13));
    case Values::special: return prng.chance(0.02) ? special_value(prng) : plain;
  }
  return plain;
}

bool is_zero_stretch(const VerifyCase& each, int rank, std::uint64_t stretch) {
  const std::uint64_t place = stretch * 1024 + static_cast<std::uint64_t>(rank);
  return base::mix64(each.seed ^ base::mix64(place)) % kStretchesPerFull != 0;
}

void append_part(const VerifyCase& each, int rank, int part, std::vector<std::byte>& tensor) {
  base::Prng prng(base::mix64(each.seed + (static_cast<std::uint64_t>(rank) << 16) +
                              static_cast<std::uint64_t>(part)));
  const std::size_t bytes = element_bytes(each.type);
  const std::size_t first = tensor.size() / bytes;
  tensor.resize(tensor.size() + each.elements * bytes);
  const bool as_bits = !core::is_float(each.type) || !reduces(each.collective);
  for (std::uint64_t i = 0; i < each.elements; ++i) {
    std::byte* const at = tensor.data() + (first + i) * bytes;
    if (each.is_sparse && is_zero_stretch(each, rank, i / kStretch)) continue;
    if (as_bits) {
      const std::uint64_t bits = prng.next();
      std::memcpy(at, &bits, bytes);
    } else {
      oracle::store_float(each.type, at, 0, value_of(each, rank, prng));
    }
  }
}

// Returns the reduction of one part of every rank's tensor.
std::vector<std::byte> reduced(const VerifyCase& each, int part, int world) {
  const auto format = format_of(each, world);
  std::vector<std::vector<std::byte>> inputs(static_cast<std::size_t>(world));
  oracle::Request request;
  request.layout = format->layout;
  // Digits give the same bits as native sums.
  const bool is_true_sum = format->exchange == encoding::Exchange::digits;
  if (is_true_sum) request.layout.format = core::WireFormat::native;
  request.collective = each.collective == Collective::all_reduce ? core::Collective::all_reduce
                                                                 : core::Collective::reduce;
  request.reduction = format->reduction;
  request.agreed = format->exchange == encoding::Exchange::exponents;
  request.world = static_cast<std::uint32_t>(world);
  request.elements = each.elements;
  for (int rank = 0; rank < world; ++rank) {
    auto& input = inputs[static_cast<std::size_t>(rank)];
    append_part(each, rank, part, input);
    request.inputs.push_back(input.data());
  }
  std::vector<std::byte> result(each.elements * element_bytes(each.type));
  oracle::expected_result(request, result);
  return result;
}

// Returns whether a pipeline that can only add can sum the case. With an automatic format, ranks
// choose digits there.
bool can_be_added(const VerifyCase& each, int world) {
  const core::FormatSet formats = core::adder_record(INFOLD_ELEMENTS_MAX).formats;
  if (each.is_sparse) return false;
  if (each.wire == WireFormat::automatic && sums_floats(each)) return true;
  const auto format = format_of(each, world);
  return format && formats.has(format->layout.format);
}

const char* values_name(Values values) {
  switch (values) {
    case Values::plain: return "plain";
    case Values::wide: return "wide";
    case Values::apart: return "far apart";
    case Values::special: return "special";
  }
  return "unknown";
}

}  // namespace

bool sums_floats(const VerifyCase& each) {
  const bool sums = each.reduction == Reduction::sum || each.reduction == Reduction::average;
  return core::is_float(each.type) && sums && reduces(each.collective);
}

const char* collective_name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "all_reduce";
    case Collective::reduce: return "reduce";
    case Collective::broadcast: return "broadcast";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::barrier: return "barrier";
  }
  return "unknown";
}

namespace {

void append_reductions(const BatteryOptions& options, VerifyCase each,
                       std::vector<VerifyCase>& cases) {
  for (const Reduction reduction : kReductions) {
    if (!options.reductions.has(reduction)) continue;
    for (const WireFormat wire : kWires) {
      each.reduction = reduction;
      each.wire = wire;
      if (wire == WireFormat::native && !options.native) continue;
      if (options.only_adds && !can_be_added(each, options.world)) continue;
      if (can_be_asked(each, options.world)) append_sizes(options, each, cases);
    }
  }
}

}  // namespace

std::vector<VerifyCase> battery(const BatteryOptions& options) {
  std::vector<VerifyCase> cases;
  for (const Collective collective : kCollectives) {
    VerifyCase each;
    each.collective = collective;
    if (collective == Collective::barrier) {
      cases.push_back(each);
      continue;
    }
    for (const DataType type : kTypes) {
      each.type = type;
      if (!reduces(collective)) {
        append_sizes(options, each, cases);
      } else {
        append_reductions(options, each, cases);
      }
    }
  }
  for (const DataType type : kTypes) {
    VerifyCase each;
    each.collective = Collective::all_reduce;
    each.type = type;
    each.is_sparse = true;
    append_reductions(options, each, cases);
  }
  return cases;
}

std::string describe(const VerifyCase& each) {
  if (each.collective == Collective::barrier) return "no tensor";
  std::string text;
  if (reduces(each.collective)) text = fmt::format("{} of ", reduction_name(each.reduction));
  text += fmt::format("{} {}", each.elements, data_type_name(each.type));
  if (each.wire != WireFormat::automatic) {
    text += fmt::format(" as {}", wire_format_name(each.wire));
  }
  if (reduces(each.collective) && core::is_float(each.type)) {
    text += fmt::format(", {} values", values_name(each.values));
  }
  if (is_rooted(each.collective)) text += fmt::format(", root {}", each.root);
  if (each.is_sparse) text += ", mostly zeros";
  return text + (each.in_place ? ", in place" : "");
}

std::vector<std::byte> input_of(const VerifyCase& each, int rank, int world) {
  std::vector<std::byte> tensor;
  const int parts = each.collective == Collective::reduce_scatter ? world : 1;
  for (int part = 0; part < parts; ++part) append_part(each, rank, part, tensor);
  return tensor;
}

std::optional<std::vector<std::byte>> expected_of(const VerifyCase& each, int rank, int world) {
  switch (each.collective) {
    case Collective::barrier: return std::nullopt;
    case Collective::all_reduce: return reduced(each, 0, world);
    case Collective::reduce_scatter: return reduced(each, rank, world);
    case Collective::reduce:
      if (rank != each.root) return std::nullopt;
      return reduced(each, 0, world);
    case Collective::broadcast: return input_of(each, each.root, world);
    case Collective::all_gather: break;
  }
  std::vector<std::byte> all;
  for (int part = 0; part < world; ++part) append_part(each, part, 0, all);
  return all;
}

std::optional<std::uint64_t> first_wrong(DataType type, const std::vector<std::byte>& got,
                                         const std::vector<std::byte>& wanted) {
  const std::size_t bytes = element_bytes(type);
  for (std::size_t i = 0; i < wanted.size(); i += bytes) {
    if (std::memcmp(got.data() + i, wanted.data() + i, bytes) != 0) return i / bytes;
  }
  return std::nullopt;
}

}  // namespace infold::measure
