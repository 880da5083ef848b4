// SPDX-License-Identifier: Apache-2.0
//
// Whether all ranks hold the same bits, and if not, where they part: the first element, the ranks
// in the minority, the distance. Ranks compare hashes, so that agreement costs one small message;
// after a difference they halve the tensor until one element is left. They talk through infold
// itself: should that be what is broken, the check ends with its error or its deadline.
//
// Every rank must make the same checks in the same order, and gets the same answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/communicator.h>
#include <infold/result.h>
#include <infold/rows.h>
#include <infold/tensor.h>

namespace infold::rank {

// The one thing that ranks say to each other: the greatest of their numbers, place by place. Every
// kind of switch finds the greatest of 32 bits.
struct Peers {
  int rank = 0;
  int world = 1;
  std::function<Result<void>(std::span<std::int32_t> in_place)> greatest;
};

// Borrows the communicator; its calls are calls of the job like any others.
Peers peers_of(Communicator& communicator);

// Every rank's number, by rank.
Result<std::vector<std::int64_t>> numbers_of_all(const Peers& peers, std::int64_t own);

struct Divergence {
  DataType type = DataType::f32;
  std::uint64_t element = 0;
  // Those that differ from most, or, where as many have each value, from the lowest rank.
  std::vector<int> ranks;
  std::uint64_t value_bits = 0;   // of the first of them
  std::uint64_t others_bits = 0;  // of most
};

// Nothing where all ranks hold the same. Requires: the same type and size at all ranks.
Result<std::optional<Divergence>> find_divergence(TensorView result, const Peers& peers);
// The same where zeros are left out: ranks may hold all of the tensor or some of its rows, and what
// a rank does not hold is zero, whose sign does not count.
Result<std::optional<Divergence>> find_sparse_divergence(TensorView result, const Peers& peers);
Result<std::optional<Divergence>> find_sparse_divergence(const RowsView& result,
                                                         const Peers& peers);

// Steps from one number of a type to another in the order of all its numbers; of integers, their
// difference. Empty where one of them is no number.
std::optional<std::uint64_t> ulps_between(DataType type, std::uint64_t a_bits,
                                          std::uint64_t b_bits);
// "1.00000012 (0x3f800001)"
std::string value_text(DataType type, std::uint64_t bits);
// The element's bits, in the low ones of the answer.
std::uint64_t bits_at(TensorView tensor, std::uint64_t element);

// "rank 2 has 1.00000012 (0x3f800001) at element 417, the others 1 (0x3f800000): 1 ulp apart"
std::string describe(const Divergence& divergence);

}  // namespace infold::rank
