// SPDX-License-Identifier: Apache-2.0
//
// Implements section 5 of the specification a second time, for 32-bit integers at a root, as
// plainly as possible: with maps and 64-bit sums, but without arrays and without reuse of memory.
// The aggregator must agree with it on every packet. It was written from spec/protocol.md, and not
// from the aggregator.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace infold::hostile {

struct ModelPacket {
  enum class Kind : std::uint8_t { add, skip, query };
  Kind kind = Kind::add;
  std::uint8_t worker = 0;
  std::uint16_t slot = 0;
  std::uint32_t round = 1;
  std::vector<std::int32_t> elements;  // the elements of an add
};

struct ModelAnswer {
  enum class What : std::uint8_t { nothing, stale, early, result_to_all, result_to_one, pending };
  What what = What::nothing;
  std::vector<std::int32_t> sum;  // the sum that a result carries
  std::uint32_t contributors = 0;
  std::set<std::uint8_t> missing;  // the ranks that a pending names
};

class SlotModel {
 public:
  SlotModel(std::uint8_t workers, std::uint32_t elements)
      : workers_(workers), elements_(elements) {}

  ModelAnswer take(const ModelPacket& packet);
  // Returns the newest round that the slot has begun, so that a fuzzer can make packets near it.
  std::uint32_t newest_round(std::uint16_t slot);

 private:
  struct Chunk {
    std::map<std::uint8_t, ModelPacket> contributions;  // by worker
    bool complete = false;
  };
  struct Slot {
    std::map<std::uint32_t, Chunk> chunks;  // by round; only the two newest matter
    std::uint32_t newest = 0;               // the newest round begun
  };

  ModelAnswer result(const Chunk& chunk, ModelAnswer::What what) const;
  ModelAnswer pending(const Chunk& chunk) const;

  std::uint8_t workers_;
  std::uint32_t elements_;
  std::map<std::uint16_t, Slot> slots_;
};

}  // namespace infold::hostile
