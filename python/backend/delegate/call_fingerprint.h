// SPDX-License-Identifier: Apache-2.0
//
// The fingerprint of a call that a rank is about to make through the delegate: type, operation,
// root and sizes. All ranks of the group exchange their fingerprints before any of them makes the
// call, because the delegate does not compare calls. If ranks make different calls, the delegate
// waits until its timeout. If a rank receives more than it has room for, the delegate ends that
// rank's process.
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

// How many elements go to each rank, and how many come from each.
struct Parcels {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
};

class CallFingerprint {
 public:
  // A call with one tensor of this size and type at each rank.
  CallFingerprint(::c10d::OpType call, const at::Tensor& tensor);
  // A call with a list of tensors.
  CallFingerprint(::c10d::OpType call, const std::vector<at::Tensor>& tensors);
  // A call with parcels of any size.
  CallFingerprint(::c10d::OpType call, at::ScalarType type, int rank, Parcels parcels);

  CallFingerprint& reduces_by(const ::c10d::ReduceOp& operation);
  CallFingerprint& has_root(std::int64_t root);

  const char* name() const;
  const Parcels& parcels() const { return parcels_; }
  // The fingerprint as bytes, to be gathered. Its length is odd, unlike a program's own tensors.
  at::Tensor row() const;

  // Compares the rows of all ranks. Returns a sentence about the first difference between two
  // ranks, or nothing if there is none.
  static std::optional<std::string> difference(const at::Tensor& rows);
  // Whether each rank expects the parcels that are sent to it. Requires: no difference.
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

// A sentence about the first parcel that does not match, from the parcels of all ranks in order.
std::string describe_parcels(const std::vector<Parcels>& of_ranks);

}  // namespace infold::pytorch
