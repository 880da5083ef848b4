// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/call_fingerprint.h"

#include <cstring>
#include <utility>

#include "base/digest.h"
#include "base/prng.h"
#include "python/backend/lists/list_checks.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;
using ::c10d::ReduceOp;

// The value of a field that the call does not have.
constexpr std::int64_t kNone = -1;

const char* name_of(OpType call) {
  switch (call) {
    case OpType::ALLREDUCE: return "all_reduce";
    case OpType::ALLREDUCE_COALESCED: return "all_reduce_coalesced";
    case OpType::BROADCAST: return "broadcast";
    case OpType::REDUCE: return "reduce";
    case OpType::REDUCE_SCATTER:
    case OpType::_REDUCE_SCATTER_BASE:
    case kListReduceScatter: return "reduce_scatter";
    case OpType::GATHER: return "gather";
    case OpType::SCATTER: return "scatter";
    case OpType::ALLTOALL_BASE:
    case OpType::ALLTOALL: return "all_to_all";
    default: return "another call";
  }
}

const char* name_of(ReduceOp::RedOpType operation) {
  switch (operation) {
    case ReduceOp::SUM: return "SUM";
    case ReduceOp::AVG: return "AVG";
    case ReduceOp::PRODUCT: return "PRODUCT";
    case ReduceOp::MIN: return "MIN";
    case ReduceOp::MAX: return "MAX";
    case ReduceOp::BAND: return "BAND";
    case ReduceOp::BOR: return "BOR";
    case ReduceOp::BXOR: return "BXOR";
    case ReduceOp::PREMUL_SUM: return "PREMUL_SUM";
    default: return "another operation";
  }
}

std::int64_t digest_of_sizes(const std::vector<at::Tensor>& tensors) {
  base::Digest digest;
  for (const at::Tensor& tensor : tensors) {
    digest.add(static_cast<std::uint64_t>(tensor.numel()));
    digest.add(static_cast<std::uint64_t>(tensor.scalar_type()));
  }
  return static_cast<std::int64_t>(digest.value());
}

// A parcel's summand in the balance. The sender adds it and the receiver subtracts it, so that the
// balance is 0 if both expect the same size. The factor is odd, so a single difference never
// vanishes.
std::uint64_t weight_of(std::uint64_t from, std::uint64_t to, std::int64_t elements) {
  return (base::mix64(from << 32 | to) | 1) * static_cast<std::uint64_t>(elements);
}

std::int64_t balance_of(int rank, const Parcels& parcels) {
  std::uint64_t balance = 0;
  const auto own = static_cast<std::uint64_t>(rank);
  for (std::size_t i = 0; i < parcels.sent.size(); ++i) {
    balance += weight_of(own, i, parcels.sent[i]) - weight_of(i, own, parcels.received[i]);
  }
  return static_cast<std::int64_t>(balance);
}

std::string ranks_differ(std::size_t rank, const std::string& at_rank, const std::string& at_first,
                         const char* rule) {
  return "rank " + std::to_string(rank) + " " + at_rank + ", rank 0 " + at_first + "; " + rule;
}

}  // namespace

CallFingerprint::CallFingerprint(OpType call, const at::Tensor& tensor)
    : CallFingerprint(call, std::vector<at::Tensor>{tensor}) {}

CallFingerprint::CallFingerprint(OpType call, const std::vector<at::Tensor>& tensors) {
  values_.fill(kNone);
  values_[kCall] = static_cast<std::int64_t>(call);
  values_[kType] = static_cast<std::int64_t>(tensors.front().scalar_type());
  values_[kTensors] = static_cast<std::int64_t>(tensors.size());
  values_[kElements] = 0;
  for (const at::Tensor& tensor : tensors) values_[kElements] += tensor.numel();
  values_[kSizes] = digest_of_sizes(tensors);
}

CallFingerprint::CallFingerprint(OpType call, at::ScalarType type, int rank, Parcels parcels)
    : parcels_(std::move(parcels)) {
  values_.fill(kNone);
  values_[kCall] = static_cast<std::int64_t>(call);
  values_[kType] = static_cast<std::int64_t>(type);
  values_[kBalance] = balance_of(rank, parcels_);
}

CallFingerprint& CallFingerprint::reduces_by(const ReduceOp& operation) {
  values_[kReduction] = static_cast<std::int64_t>(operation.op_);
  return *this;
}

CallFingerprint& CallFingerprint::has_root(std::int64_t root) {
  values_[kRoot] = root;
  return *this;
}

const char* CallFingerprint::name() const { return name_of(static_cast<OpType>(values_[kCall])); }

at::Tensor CallFingerprint::row() const {
  at::Tensor row = at::zeros({kRowBytes}, at::kByte);
  std::memcpy(row.data_ptr(), values_.data(), sizeof(values_));
  return row;
}

CallFingerprint::Values CallFingerprint::values_at(const at::Tensor& rows, std::int64_t rank) {
  Values values;
  std::memcpy(values.data(), rows[rank].data_ptr(), sizeof(values));
  return values;
}

std::string CallFingerprint::text_of(Field field, const Values& values) {
  const std::int64_t value = values[field];
  switch (field) {
    case kCall: return std::string("called ") + name_of(static_cast<OpType>(value));
    case kType: return std::string("passed ") + c10::toString(static_cast<at::ScalarType>(value));
    case kReduction:
      return std::string("asked for ") + name_of(static_cast<ReduceOp::RedOpType>(value));
    case kRoot: return "named root " + std::to_string(value);
    case kTensors: return "passed " + std::to_string(value) + " tensors";
    case kElements: return "passed " + std::to_string(value) + " elements";
    default: return "passed other sizes in its list";
  }
}

std::optional<std::string> CallFingerprint::difference(const at::Tensor& rows) {
  // The call comes first, because the other fields of different calls cannot be compared.
  static constexpr std::array<const char*, kBalance> kRules = {
      "all ranks must make the same calls in the same order",
      "all ranks must pass the same type",
      "all ranks must ask for the same operation",
      "all ranks must name the same root",
      "all ranks must pass as many tensors",
      "all ranks must pass the same size",
      "all ranks must pass the same sizes"};
  const Values first = values_at(rows, 0);
  for (std::uint8_t number = 0; number < kBalance; ++number) {
    const auto field = static_cast<Field>(number);
    for (std::int64_t rank = 1; rank < rows.size(0); ++rank) {
      const Values other = values_at(rows, rank);
      if (other[field] == first[field]) continue;
      return ranks_differ(static_cast<std::size_t>(rank), text_of(field, other),
                          text_of(field, first), kRules[field]);
    }
  }
  return std::nullopt;
}

bool CallFingerprint::parcels_match(const at::Tensor& rows) {
  if (values_at(rows, 0)[kSizes] != kNone) return true;  // the call has no parcels
  std::uint64_t balance = 0;
  for (std::int64_t rank = 0; rank < rows.size(0); ++rank) {
    balance += static_cast<std::uint64_t>(values_at(rows, rank)[kBalance]);
  }
  return balance == 0;
}

std::string describe_parcels(const std::vector<Parcels>& of_ranks) {
  for (std::size_t from = 0; from < of_ranks.size(); ++from) {
    for (std::size_t to = 0; to < of_ranks.size(); ++to) {
      const std::int64_t sent = of_ranks[from].sent[to];
      const std::int64_t expected = of_ranks[to].received[from];
      if (sent == expected) continue;
      return "rank " + std::to_string(from) + " sends " + std::to_string(sent) +
             " elements to rank " + std::to_string(to) + ", which expects " +
             std::to_string(expected) + "; both must name the same number";
    }
  }
  return "ranks do not expect what they are sent";
}

}  // namespace infold::pytorch
