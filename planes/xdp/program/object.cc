// SPDX-License-Identifier: Apache-2.0
//
// The assembler includes the object file, so that the build needs neither a generator nor a copy of
// the file.
#include "planes/xdp/program/object.h"

// INFOLD_BPF_OBJECT is the file's path, in quotes.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "infold_bpf_object:\n"
    ".incbin \"" INFOLD_BPF_OBJECT
    "\"\n"
    "infold_bpf_object_end:\n"
    ".popsection\n");

extern "C" const std::byte infold_bpf_object[];
extern "C" const std::byte infold_bpf_object_end[];

namespace infold::xdp {

std::span<const std::byte> object_bytes() {
  return {infold_bpf_object, static_cast<std::size_t>(infold_bpf_object_end - infold_bpf_object)};
}

}  // namespace infold::xdp
