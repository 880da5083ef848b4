// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/adders/block_digits.h"

#include "numeric/codec.h"

namespace infold::rank {

void BlockDigits::begin(core::TransferRequest& dense, const LaunchTerms& terms) {
  encoding::Digits::Work work;
  work.tensor = dense;
  work.world = static_cast<std::uint32_t>(terms.world);
  work.packet_integers = core::chunk_elements(terms.format.layout, terms.limits);
  digits_.begin_later(work);
  dense.layout.format = core::WireFormat::native;
  dense.codec = numeric::codec(dense.layout.dtype, dense.layout.format, dense.reduction,
                               core::Collective::all_reduce);
}

core::TransferRequest BlockDigits::transfer(std::uint32_t number) {
  return number == 0 ? digits_.range_transfer() : digits_.digit_transfer();
}

std::uint64_t BlockDigits::gather(const sparse::BlockSum& sum) {
  const std::uint64_t elements = sum.union_elements();
  std::byte* const tensor = elements > 0 ? elements_.take(sum.union_bytes()) : nullptr;
  sum.copy_elements(tensor);
  return digits_.set_tensor(tensor, tensor, elements);
}

std::uint64_t BlockDigits::plan() {
  const std::uint64_t integers = digits_.plan();
  if (digits_.sums_bytes() > 0) digits_.set_sums(sums_.take(digits_.sums_bytes()));
  return integers;
}

void BlockDigits::deliver(sparse::BlockSum& sum) const { sum.take_sums(elements_.data()); }

void BlockDigits::clear() {
  elements_.clear();
  sums_.clear();
}

}  // namespace infold::rank
