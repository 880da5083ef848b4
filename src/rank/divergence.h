// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether all ranks hold the same bits, and if not, where they differ: the first element,
// the ranks in the minority, and the distance. Ranks compare hashes, so that agreement costs one
// small message. After a difference, they halve the tensor until one element is left. They
// communicate through infold itself; if that is what is broken, the check ends with its error or at
// its deadline.
//
// Every rank must make the same checks in the same order. All ranks get the same answer.
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

// The only exchange between the ranks: it finds the maximum of their numbers at each place. Every
// kind of switch can find the maximum of 32-bit integers.
struct Ranks {
  int rank = 0;
  int world = 1;
  std::function<Result<void>(std::span<std::int32_t> in_place)> greatest;
};

// Borrows the communicator. The calls made on it are ordinary calls of the job.
Ranks ranks_of(Communicator& communicator);

// The numbers of all ranks, in the order of ranks.
Result<std::vector<std::int64_t>> numbers_of_all(const Ranks& ranks, std::int64_t own);

struct Divergence {
  DataType type = DataType::f32;
  std::uint64_t element = 0;
  // The ranks whose value differs from the most frequent one. If several values are equally
  // frequent, the lowest rank's value counts as the most frequent.
  std::vector<int> ranks;
  std::uint64_t value_bits = 0;   // the bits at the first of these ranks
  std::uint64_t others_bits = 0;  // the bits at most ranks
};

// Returns nothing if all ranks hold the same bits. Requires: type and size are the same at all
// ranks.
Result<std::optional<Divergence>> find_divergence(TensorView result, const Ranks& ranks);
// The same check for results that leave out zeros. Ranks may hold the whole tensor or some of its
// rows. What a rank does not hold counts as zero, and the sign of zero does not matter.
Result<std::optional<Divergence>> find_sparse_divergence(TensorView result, const Ranks& ranks);
Result<std::optional<Divergence>> find_sparse_divergence(const RowsView& result,
                                                         const Ranks& ranks);

// The number of steps from one value to the other among all values of the type; for integers, their
// difference. Empty if one of them is NaN.
std::optional<std::uint64_t> ulps_between(DataType type, std::uint64_t a_bits,
                                          std::uint64_t b_bits);
// "1.00000012 (0x3f800001)"
std::string value_text(DataType type, std::uint64_t bits);
// The element's bits, in the lowest bits of the answer.
std::uint64_t bits_at(TensorView tensor, std::uint64_t element);

// "rank 2 has 1.00000012 (0x3f800001) at element 417, the others 1 (0x3f800000): 1 ulp apart"
std::string describe(const Divergence& divergence);

}  // namespace infold::rank
