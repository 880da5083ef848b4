// SPDX-License-Identifier: Apache-2.0
#include "codec/votes/sign_votes.h"

#include <algorithm>

#include "codec/compress/counter_random.h"

namespace infold::codec {
namespace {

constexpr std::uint64_t kUse = 0x5167;  // of random numbers: which rank abstains

}  // namespace

std::uint32_t SignVotes::voters(std::uint32_t world, bool abstains) {
  return abstains && world % 2 == 0 ? world - 1 : world;
}

void SignVotes::cast(std::span<const float> tensor, const Turn& turn) {
  world_ = turn.world;
  const std::uint32_t offset = CounterRandom::shared(turn, kUse).bits(0) % world_;
  first_abstained_ = (turn.rank + world_ - offset) % world_;
  lanes_ = Lanes::fit(1, voters(world_, abstains_)).value();
  codes_.assign(lanes_.integers(tensor.size()), 0);
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    const std::size_t first = i * lanes_.count;
    const std::size_t size = std::min<std::size_t>(lanes_.count, tensor.size() - first);
    std::uint32_t integer = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const std::uint32_t vote = tensor[first + k] < 0 ? 0 : 1;
      integer |= vote << (k * lanes_.width);
    }
    codes_[i] = integer;
  }
  if (!is_thinned()) return;
  for (std::size_t i = first_abstained_; i < tensor.size(); i += world_) {
    codes_[i / lanes_.count] &= ~(std::uint32_t{1} << lanes_.shift(i));
  }
}

void SignVotes::write_balances(std::span<const std::uint32_t> sums,
                               std::span<float> balances) const {
  const auto most = static_cast<float>(voters(world_, abstains_));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t first = i * lanes_.count;
    const std::size_t size = std::min<std::size_t>(lanes_.count, balances.size() - first);
    for (std::size_t k = 0; k < size; ++k) {
      balances[first + k] = 2 * static_cast<float>(lanes_.take(sums[i], k)) - most;
    }
  }
}

void SignVotes::write_own(std::span<float> signs) const {
  for (std::size_t i = 0; i < signs.size(); ++i) {
    signs[i] = lanes_.take(codes_[i / lanes_.count], i) == 1 ? 1.0F : -1.0F;
  }
  if (!is_thinned()) return;
  for (std::size_t i = first_abstained_; i < signs.size(); i += world_) signs[i] = 0;
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

}  // namespace infold::codec
