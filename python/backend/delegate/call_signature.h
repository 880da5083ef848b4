// SPDX-License-Identifier: Apache-2.0
//
// The signature of a call that a rank is about to make of the delegate: type, operation, root and
// sizes. All ranks of the group exchange their signatures before any of them makes the call,
// because the delegate compares nothing. If ranks make different calls, the delegate waits until
// its timeout. If a rank is sent more than it has room for, the delegate ends that rank's process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace infold::pytorch {

// How many elements go to each rank, and come from each.
struct Parcels {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
};

class CallSignature {
 public:
  // Of a call with tensors of this size and type at all ranks.
  CallSignature(::c10d::OpType call, const at::Tensor& tensor);
  // With a list of them.
  CallSignature(::c10d::OpType call, const std::vector<at::Tensor>& tensors);
  // With tensors of any size, in parcels.
  CallSignature(::c10d::OpType call, at::ScalarType type, int rank, Parcels parcels);

  CallSignature& reduces_by(const ::c10d::ReduceOp& operation);
  CallSignature& has_root(std::int64_t root);

  const char* name() const;
  const Parcels& parcels() const { return parcels_; }
  // A row of bytes to be gathered, of a length that no program's own have by chance.
  at::Tensor row() const;

  // Of the rows of all ranks: in what two of them are not alike, as a sentence; nothing if none
  // are.
  static std::optional<std::string> difference(const at::Tensor& rows);
  // Whether what each rank sends to each is what that one expects. Requires: no difference.
  static bool parcels_match(const at::Tensor& rows);

 private:
  enum Field : std::uint8_t {
    kCall,
    kType,
    kReduction,
    kRoot,
    kTensors,
    kElements,
    kSizes,
    kBalance,
    kFields
  };
  using Values = std::array<std::int64_t, kFields>;

  static constexpr std::int64_t kRowBytes = sizeof(Values) + 1;
  static Values values_at(const at::Tensor& rows, std::int64_t rank);
  static std::string text_of(Field field, const Values& values);

  Values values_{};
  Parcels parcels_;
};

// Which parcel does not match, by all ranks' in their order.
std::string describe_parcels(const std::vector<Parcels>& of_ranks);

}  // namespace infold::pytorch
