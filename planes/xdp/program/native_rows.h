// SPDX-License-Identifier: Apache-2.0
//
// The memory in which the packet program sums native elements (planes/xdp/bpf/state.h): the length
// of rows, the tables that choose a float's row, and a map of rows for one job. All functions are
// pure except make_rows().
#pragma once

#include <array>
#include <cstdint>

#include "planes/xdp/bpf/state.h"

namespace infold::xdp {

// The number of words in a row, for elements of 4 and of 2 bytes.
struct RowLayout {
  std::array<std::uint32_t, 2> words{};

  // The layout for chunks in such datagrams. Requires: a datagram holds an element.
  static RowLayout of(std::uint32_t datagram_bytes_max, std::uint32_t elements_max);
  // The bytes of all rows of a copy, for the type that needs most.
  std::uint32_t copy_bytes() const;
};

infold_xdp_scales make_scales(const RowLayout& layout);

// Makes a map with empty rows for this many copies, which the caller closes. Returns -1, with errno
// set, if the kernel has no memory for it.
int make_rows(const RowLayout& layout, std::uint32_t copies);

}  // namespace infold::xdp
