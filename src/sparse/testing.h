// SPDX-License-Identifier: Apache-2.0
//
// The kinds of elements that the tests of this folder use, one for each way of encoding.
#pragma once

#include "core/format.h"

namespace infold::sparse::testing {

struct Kind {
  core::ElementLayout layout;
  core::Reduction reduction;
};

inline constexpr Kind kKinds[] = {
    {{core::WireFormat::bfp32, core::DataType::f32}, core::Reduction::sum},
    {{core::WireFormat::bfp8, core::DataType::bf16}, core::Reduction::average},
    {{core::WireFormat::bfp16, core::DataType::f64}, core::Reduction::sum},
    {{core::WireFormat::i8, core::DataType::u8}, core::Reduction::bit_or},
    {{core::WireFormat::i64, core::DataType::i64}, core::Reduction::sum},
};

}  // namespace infold::sparse::testing
