// SPDX-License-Identifier: Apache-2.0
//
// Registers as match-action hardware has them. A packet passes the stages in order, and each array
// is in one stage. A packet therefore touches each array at most once, at one index, and what it
// finds there can only influence later arrays. CHECKs enforce that.
//
// A stage must not do more to an entry than hardware can: compare it twice with the packet's
// fields, and set it by one addition or one bit operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace infold::core {

// The passage of one packet through the pipeline.
class Pass {
 public:
  void enter(std::uint32_t stage) {
    CHECK_THAT(stage, >=, next_);
    next_ = stage + 1;
  }

 private:
  std::uint32_t next_ = 0;
};

template <typename Entry>
class RegisterArray {
 public:
  RegisterArray(std::uint32_t stage, std::size_t entries, Entry first = {})
      : stage_(stage), entries_(entries, first) {}

  // Calls `update`, which may change the entry, and returns its result.
  template <typename Update>
  auto touch(Pass& pass, std::size_t index, Update update) {
    pass.enter(stage_);
    return update(entries_[index]);
  }
  // Returns the entry after the write.
  Entry write_if(Pass& pass, std::size_t index, bool writes, Entry value) {
    return touch(pass, index, [&](Entry& entry) { return entry = writes ? value : entry; });
  }

  // For the controller, whose accesses do not pass through the stages.
  const Entry& operator[](std::size_t index) const { return entries_[index]; }
  Entry& operator[](std::size_t index) { return entries_[index]; }
  std::size_t memory_bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  std::uint32_t stage_;
  std::vector<Entry> entries_;
};

// Arrays of the same length in consecutive stages.
template <typename Entry>
class RegisterArrays {
 public:
  RegisterArrays(std::uint32_t first_stage, std::size_t arrays, std::size_t entries)
      : first_stage_(first_stage), arrays_(arrays), entries_(arrays * entries) {}

  template <typename Update>
  auto touch(Pass& pass, std::uint32_t array, std::size_t index, Update update) {
    pass.enter(first_stage_ + array);
    return update(entries_[index * arrays_ + array]);
  }

  const Entry& at(std::uint32_t array, std::size_t index) const {
    return entries_[index * arrays_ + array];
  }
  std::size_t memory_bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  std::uint32_t first_stage_;
  std::size_t arrays_;
  std::vector<Entry> entries_;
};

}  // namespace infold::core
