// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace infold::plan {
namespace {

using core::ElementLayout;

bool holds_all_by_definition(const core::ChunkLimits& limits, core::FormatSet formats) {
  for (unsigned format = INFOLD_FORMAT_I8; format <= INFOLD_FORMAT_BFP32; ++format) {
    if (!formats.has(static_cast<core::WireFormat>(format))) continue;
    for (unsigned dtype = INFOLD_DTYPE_F32; dtype <= INFOLD_DTYPE_I64; ++dtype) {
      const ElementLayout layout = {static_cast<core::WireFormat>(format),
                                    static_cast<core::DataType>(dtype)};
      if (core::chunk_elements(layout, limits) == 0) return false;
    }
  }
  return true;
}

TEST(Layouts, FitWhereEachHasAChunk) {
  for (const std::uint32_t formats : {0x00U, 0x01U, 0x04U, 0x10U, 0x40U, 0x7FU}) {
    for (const std::uint32_t elements_max : {0U, 15U, 16U, 31U, 32U, 63U, 64U, 1056U, ~0U}) {
      for (std::uint32_t bytes = 0; bytes < 1200; ++bytes) {
        for (const bool is_tree : {false, true}) {
          const core::ChunkLimits limits = {bytes, elements_max, is_tree};
          const core::FormatSet set(formats);
          ASSERT_EQ(holds_all_layouts(limits, set), holds_all_by_definition(limits, set))
              << bytes << " bytes, " << elements_max << " elements, formats " << formats;
        }
      }
    }
  }
}

}  // namespace
}  // namespace infold::plan
