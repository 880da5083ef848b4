// SPDX-License-Identifier: Apache-2.0
#include "study/measure/verify_rounding.h"

#include <algorithm>

#include "rank/divergence.h"

namespace infold::measure {
namespace {

bool is_exact(WireFormat wire) {
  return wire == WireFormat::automatic || wire == WireFormat::native || wire == WireFormat::digits;
}

}  // namespace

void RoundingTally::add(const VerifyCase& each, int rank, int world,
                        const std::vector<std::byte>& got, const std::vector<std::byte>& expected) {
  if (!sums_floats(each) || got.empty()) return;
  VerifyCase exact = each;
  exact.wire = WireFormat::automatic;
  const std::vector<std::byte> truth =
      is_exact(each.wire) ? expected : *expected_of(exact, rank, world);
  const std::size_t elements = got.size() / element_bytes(each.type);
  const TensorView ours(got.data(), elements, each.type);
  const TensorView wanted(truth.data(), elements, each.type);
  Rounding& rounding = tally_[{each.wire, each.type}];
  rounding.elements += elements;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = rank::bits_at(ours, i);
    const std::uint64_t exact_bits = rank::bits_at(wanted, i);
    if (bits == exact_bits) continue;
    ++rounding.off;
    const auto ulps = rank::ulps_between(each.type, bits, exact_bits);
    rounding.ulps_most = std::max(rounding.ulps_most, ulps.value_or(0));
  }
}

}  // namespace infold::measure
