// SPDX-License-Identifier: Apache-2.0
//
// Which kernel sets there are, and which this processor can run.
#include "numeric/codec.h"
#include "numeric/scalar_codecs.h"

namespace infold::numeric {
namespace {

const core::TensorCodec* scalar_lookup(core::DataType dtype, core::WireFormat format,
                                       core::Reduction reduction, core::Collective collective) {
  const core::TensorCodec* plain = scalar_plain_codec(dtype, format, reduction, collective);
  if (plain != nullptr) return plain;
  if (collective != core::Collective::all_reduce && collective != core::Collective::reduce) {
    return nullptr;
  }
  return scalar_block_codec(dtype, format, reduction);
}

}  // namespace

const KernelSet& scalar_kernels() {
  static const KernelSet kSet = {.name = "scalar",
                                 .arithmetic = &core::scalar_arithmetic(),
                                 .codec = scalar_lookup,
                                 .agreed_codec = scalar_agreed_codec};
  return kSet;
}

std::span<const KernelSet> supported_kernels() { return {&scalar_kernels(), 1}; }

const KernelSet* find_kernels(std::string_view name) {
  for (const KernelSet& set : supported_kernels()) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

const KernelSet& kernels() { return supported_kernels().back(); }

}  // namespace infold::numeric
