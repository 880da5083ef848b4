// SPDX-License-Identifier: Apache-2.0
//
// The records of the memories. Each memory has a file in this folder.
#pragma once

#include "compress/memories/memory.h"

namespace infold::compress {

MemoryKind no_memory();
MemoryKind residual_memory();
MemoryKind momentum_memory();
MemoryKind dgc_memory();
MemoryKind ef_sign_memory();

}  // namespace infold::compress
