// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/staging.h"

#include <cstring>
#include <utility>

#include "rank/calls/request.h"

namespace infold::rank {
namespace {

std::size_t bytes_of(const core::TransferRequest& transfer) {
  return transfer.elements * element_bytes(transfer.layout.dtype);
}

}  // namespace

bool overwrites_input(const core::TransferRequest& transfer) {
  if (transfer.input == nullptr || transfer.output == nullptr) return false;
  const std::size_t bytes = bytes_of(transfer);
  return overlap(transfer.input, bytes, transfer.output, bytes);
}

bool needs_staging(const core::TransferRequest& transfer, bool keeps_input) {
  return overwrites_input(transfer) && (keeps_input || transfer.input != transfer.output);
}

bool Staging::stage(core::TransferRequest& transfer, bool keeps_input) {
  if (!needs_staging(transfer, keeps_input)) return !overwrites_input(transfer);
  bytes_ = bytes_of(transfer);
  output_ = std::exchange(transfer.output, take(bytes_));
  return true;
}

std::byte* Staging::take(std::size_t bytes) {
  scratch_ = pool_.take(bytes);
  return scratch_.bytes.get();
}

void Staging::deliver() const {
  if (output_ != nullptr) std::memcpy(output_, scratch_.bytes.get(), bytes_);
}

Scratch Staging::release() { return std::exchange(scratch_, {}); }

void Staging::clear() {
  pool_.give_back(std::exchange(scratch_, {}));
  output_ = nullptr;
  bytes_ = 0;
}

}  // namespace infold::rank
