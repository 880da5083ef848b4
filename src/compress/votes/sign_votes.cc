// SPDX-License-Identifier: Apache-2.0
#include "compress/votes/sign_votes.h"

#include "compress/counter_random.h"
#include "compress/pieces.h"

namespace infold::compress {
namespace {

constexpr std::uint64_t kUse = 0x5167;  // for random numbers that say which rank abstains

}  // namespace

std::uint32_t SignVotes::voters(std::uint32_t world, bool abstains) {
  return abstains && world % 2 == 0 ? world - 1 : world;
}

void SignVotes::cast(std::span<const float> tensor, const Turn& turn) {
  world_ = turn.world;
  const std::uint32_t offset = CounterRandom::shared(turn, kUse).bits(0) % world_;
  first_abstained_ = (turn.rank + world_ - offset) % world_;
  lanes_ = Lanes::fit(1, voters(world_, abstains_)).value();
  const bool is_thinned = this->is_thinned();
  std::size_t abstained = first_abstained_;
  pack_lanes(lanes_, tensor.size(), codes_, [&](std::size_t first, auto codes) {
    numeric::code_loops().vote(tensor.data() + first, codes.size(), codes.data());
    if (!is_thinned) return;
    for (; abstained < first + codes.size(); abstained += world_) codes[abstained - first] = 0;
  });
}

void SignVotes::write(std::span<const std::uint32_t> integers, std::uint32_t votes,
                      const Units& units, std::span<float> out) const {
  const double zero = votes / 2.0;
  unpack_lanes(lanes_, integers, out.size(), [&](std::size_t begin, auto codes) {
    for_each_piece(begin, codes.size(), units.bucket, [&](auto bucket, auto first, auto size) {
      numeric::code_loops().restore(codes.data() + (first - begin), size, zero,
                                    2 * double{units.numbers[bucket]} / units.divisor,
                                    out.data() + first);
    });
  });
}

void SignVotes::write_balances(std::span<const std::uint32_t> sums, const Units& units,
                               std::span<float> balances) const {
  write(sums, voters(world_, abstains_), units, balances);
}

void SignVotes::write_own(const Units& units, std::span<float> signs) const {
  write(codes_, 1, units, signs);
  if (!is_thinned()) return;
  // Subtract instead of assigning 0, so that a NaN from the units stays a NaN.
  for (std::size_t i = first_abstained_; i < signs.size(); i += world_) signs[i] -= signs[i];
}

Setting abstain_setting() {
  return {.name = "abstain",
          .usual = 1,
          .least = 0,
          .most = 1,
          .is_whole = true,
          .meaning = "1: in an even world, one rank of each element's abstains; 0: all vote"};
}

double vote_bits(const Shape& shape, const Settings& settings, std::uint32_t world) {
  const std::uint32_t voters = SignVotes::voters(world, settings["abstain"] == 1);
  const Lanes lanes = Lanes::fit(1, voters).value_or(Lanes{});
  return 32 * static_cast<double>(lanes.integers(shape.elements));
}

}  // namespace infold::compress
