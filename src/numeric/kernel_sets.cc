// SPDX-License-Identifier: Apache-2.0
//
// Lists the kernel sets that this processor can run.
#include <array>
#include <cstddef>
#include <vector>

#include <hwy/targets.h>

#include "numeric/codec.h"
#include "numeric/scalar/scalar_codecs.h"
#include "numeric/vector/vector_sets.h"

namespace infold::numeric {
namespace {

// Highway has fewer targets on every architecture.
constexpr std::size_t kSetsMax = 16;

class SupportedSets {
 public:
  SupportedSets() {
    sets_[count_++] = scalar_kernels();
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    for (auto target = targets.rbegin(); target != targets.rend(); ++target) {  // the best is first
      if (*target == HWY_SCALAR || *target == HWY_EMU128 || count_ == kSetsMax) continue;
      hwy::GetChosenTarget().Update(*target);
      sets_[count_++] = {.name = hwy::TargetName(*target),
                         .arithmetic = &chosen_arithmetic(),
                         .block_codec = chosen_block_lookup(),
                         .plain_codec = scalar_plain_codec,
                         .agreed_codec = scalar_agreed_codec,
                         .block_codes = scalar_block_codes,
                         .find_presence = chosen_presence(),
                         .digits = chosen_digits(),
                         .codes = chosen_codes()};
    }
    add_halves();
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  std::span<const KernelSet> sets() const { return {sets_.data(), count_}; }

 private:
  // Adds a set with AVX512-FP16, for which Highway does not have a target. The new set is a copy of
  // the best set so far, whose target is still chosen.
  void add_halves() {
    const BlockCodecLookup halves = chosen_half_lookup();
    if (halves == nullptr || count_ == kSetsMax) return;
    sets_[count_] = sets_[count_ - 1];
    sets_[count_].name = "AVX3_FP16";
    sets_[count_++].block_codec = halves;
  }

  std::array<KernelSet, kSetsMax> sets_;
  std::size_t count_ = 0;
};

}  // namespace

const core::TensorCodec* KernelSet::codec(core::DataType dtype, core::WireFormat format,
                                          core::Reduction reduction,
                                          core::Collective collective) const {
  const core::TensorCodec* plain = plain_codec(dtype, format, reduction, collective);
  if (plain != nullptr) return plain;
  const bool reduces =
      collective == core::Collective::all_reduce || collective == core::Collective::reduce;
  return reduces ? block_codec(dtype, format, reduction) : nullptr;
}

const KernelSet& scalar_kernels() {
  static const KernelSet kSet = {.name = "scalar",
                                 .arithmetic = &core::scalar_arithmetic(),
                                 .block_codec = scalar_block_codec,
                                 .plain_codec = scalar_plain_codec,
                                 .agreed_codec = scalar_agreed_codec,
                                 .block_codes = scalar_block_codes,
                                 .find_presence = scalar_find_presence,
                                 .digits = scalar_digits(),
                                 .codes = &scalar_code_loops()};
  return kSet;
}

std::span<const KernelSet> supported_kernels() {
  static const SupportedSets kSets;
  return kSets.sets();
}

const KernelSet* find_kernels(std::string_view name) {
  for (const KernelSet& set : supported_kernels()) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

const KernelSet& kernels() { return supported_kernels().back(); }

}  // namespace infold::numeric
