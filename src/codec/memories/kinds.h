// SPDX-License-Identifier: Apache-2.0
//
// The records of the memories. Each one is a file of this folder.
#pragma once

#include "codec/memories/memory.h"

namespace infold::codec {

MemoryKind no_memory();
MemoryKind residual_memory();
MemoryKind momentum_memory();
MemoryKind dgc_memory();
MemoryKind ef_sign_memory();

}  // namespace infold::codec
