// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/adders/digits.h"

#include <algorithm>
#include <string>

namespace infold::rank {
namespace {

// A packet's shape field can tell tensor sizes apart up to this size.
constexpr std::size_t kElementsMax = 0xFFFF'FFFF;

tl::unexpected<Error> refuse_length(std::size_t elements) {
  return tl::unexpected(Error{Code::out_of_range,
                              "the list has " + std::to_string(elements) +
                                  " elements; the most in digits is " +
                                  std::to_string(kElementsMax) + ", split longer ones",
                              -1, ""});
}

}  // namespace

bool DigitsLaunch::has_elements(const CallRequest& request) {
  if (!request.is_list) return request.input.elements > 0;
  return std::any_of(request.list.begin(), request.list.end(),
                     [](const MutableTensorView& each) { return each.elements > 0; });
}

// Places the elements of the list side by side in staging memory, which becomes their result.
core::TransferRequest DigitsLaunch::list_transfer(const CallRequest& request,
                                                  const LaunchTerms& terms) {
  core::TransferRequest transfer = blank_transfer(request, terms);
  transfer.elements = fusion_.fused_elements();
  transfer.input = transfer.output = result_.take(fusion_.bytes());
  fusion_.gather(result_.data());
  return transfer;
}

// A transfer of the whole tensor, of which this rank keeps only its part.
core::TransferRequest DigitsLaunch::parts_transfer(const CallRequest& request,
                                                   const LaunchTerms& terms, std::byte* output) {
  core::TransferRequest transfer = blank_transfer(request, terms);
  // Aggregators send each result to all ranks in any case.
  transfer.collective = core::Collective::all_reduce;
  transfer.elements = request.input.elements;
  transfer.input = static_cast<const std::byte*>(request.input.data);
  transfer.output = output;
  return transfer;
}

Result<LaunchOutline> DigitsLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  LaunchOutline outline;
  encoding::Digits::Work work;
  work.world = static_cast<std::uint32_t>(terms.world);
  work.packet_integers = core::chunk_elements(terms.format.layout, terms.limits);
  if (request.is_list) {
    for (const MutableTensorView& tensor : request.list) fusion_.fuse(tensor, 1);
    if (fusion_.fused_elements() > kElementsMax) return refuse_length(fusion_.fused_elements());
    work.tensor = list_transfer(request, terms);
    work.wanted = work.tensor.elements;
  } else if (request.in_parts) {
    core::TransferRequest own = tensor_transfer(part_of(request, terms.rank, terms.rank), terms);
    outline.input_survives = result_.stage(own, request.options.keep_input);
    work.tensor = parts_transfer(request, terms, own.output);
    work.first_wanted = own.elements * static_cast<std::uint64_t>(terms.rank);
    work.wanted = own.elements;
  } else {
    work.tensor = tensor_transfer(request, terms);
    work.wanted = work.tensor.elements;
    outline.input_survives = result_.stage(work.tensor, request.options.keep_input);
  }
  digits_.begin(work);
  outline.sizing = digits_.has_range_transfer() ? 1 : 0;
  outline.transfers = outline.sizing + 1;
  outline.elements = work.tensor.elements;
  outline.composed = outline.exchanges = true;
  return outline;
}

core::TransferRequest DigitsLaunch::transfer(std::uint32_t number, core::TransferId) {
  const bool is_range = number == 0 && digits_.has_range_transfer();
  return is_range ? digits_.range_transfer() : digits_.digit_transfer();
}

Launch::Size DigitsLaunch::size_after(std::uint32_t, base::Instant) {
  const std::uint64_t integers = digits_.plan();
  if (digits_.sums_bytes() > 0) digits_.set_sums(sums_.take(digits_.sums_bytes()));
  return {integers};
}

std::optional<Error> DigitsLaunch::deliver() {
  fusion_.scatter(result_.data());
  result_.deliver();
  return std::nullopt;
}

void DigitsLaunch::clear() {
  sums_.clear();
  result_.clear();
  fusion_.clear();
}

}  // namespace infold::rank
