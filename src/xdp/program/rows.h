// SPDX-License-Identifier: Apache-2.0
//
// The memory in which the packet program sums native elements (bpf/state.h): how long rows are, the
// tables that choose a float's row, and a map of rows for one job. Pure, except make_rows().
#pragma once

#include <array>
#include <cstdint>

#include "bpf/state.h"

namespace infold::xdp {

// Words of a row, of elements of 4 and of 2 bytes.
struct RowLayout {
  std::array<std::uint32_t, 2> words{};

  // Of chunks in such datagrams. Requires: a datagram holds an element.
  static RowLayout of(std::uint32_t datagram_bytes_max, std::uint32_t elements_max);
  // All rows of a copy, of the type with the longest.
  std::uint32_t copy_bytes() const;
};

infold_xdp_scales make_scales(const RowLayout& layout);

// A map with empty rows for so many copies, which the caller closes. -1, and errno, if the kernel
// has no memory for it.
int make_rows(const RowLayout& layout, std::uint32_t copies);

}  // namespace infold::xdp
