// SPDX-License-Identifier: Apache-2.0
//
// Which blocks of a tensor each rank has, drawn at random as in OmniReduce's benchmark, and the
// transfers that infold's sparse sum makes from them (spec R-076). Pure functions of a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace infold::reproduce {

struct SparseDraw {
  std::uint16_t workers = 8;
  std::uint64_t blocks = 0;            // blocks of the tensor, with block_elements each
  std::uint32_t block_elements = 256;  // a multiple of 32
  double density = 1;                  // share of its blocks that a rank has, at independent places
  std::uint64_t seed = 1;
};

struct SparseSets {
  std::uint64_t own_blocks = 0;    // in each rank
  std::uint64_t union_blocks = 0;  // in at least one rank
  // A bit for each 32 elements of the union, set if the rank has them.
  std::vector<std::vector<std::uint32_t>> own;
  // The number of 32-bit words in each transfer that joins the ranks' sets, in this order.
  std::vector<std::uint64_t> join_words;
};

SparseSets draw_sets(const SparseDraw& draw);

}  // namespace infold::reproduce
