// SPDX-License-Identifier: Apache-2.0
//
// A compressor makes fewer bits of one parameter's tensor, and a mean of what all ranks sent. It
// says what travels, in one or more legs; it does no I/O. Each leg is a collective that every rank
// makes with the same travel and, but for gather, the same size.
//
//   begin() -> a leg -> next(its answer) -> a leg -> ... -> next() without a leg -> write_mean()
//
// write_sent() may be called from the moment of the last leg on. A compressor belongs to one
// parameter of one rank, and keeps its memory for the next step. What it remembers over steps
// changes with commit() alone. So a step that failed can begin again, with the same bits. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace infold::codec {

// How a leg travels.
enum class Travel : std::uint8_t {
  lanes,   // 32-bit integers, added modulo 2^32
  maxima,  // f32, the largest of all ranks; never a NaN
  floats,  // f32, the exact mean of all ranks, rounded once
  gather,  // bytes, of any length on each rank; each rank gets all ranks' bytes
  rows,    // f32 of some elements of a tensor; the exact mean of all ranks' tensors, rounded once
};

struct Leg {
  Travel travel = Travel::lanes;
  // Valid until the compressor's next call.
  std::span<const std::byte> sent;
  // Of rows: which elements were sent, ascending, and how many the tensor has. All others are
  // zeros.
  std::span<const std::uint32_t> indices = {};
  std::size_t elements = 0;
};

// Its memory is valid until write_mean() has returned.
struct Answer {
  // Of lanes, maxima and floats: as long as what was sent. Of rows: f32, the whole tensor.
  std::span<const std::byte> reduced;
  // Of gather: what each rank sent, in the order of ranks. Peers made it, so nothing in it is sure.
  std::span<const std::span<const std::byte>> gathered;
};

// A step of a parameter. Random numbers of a compressor are a function of this and of an element's
// index, and of nothing else.
struct Turn {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t parameter = 0;  // a hash of its name
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
};

// One thing that a compressor or a memory carries from step to step, for checkpoints.
struct Kept {
  std::string name;
  std::vector<float>* values;
};

class Compressor {
 public:
  virtual ~Compressor() = default;

  // Borrows the tensor until commit() or the next begin(). The tensor has the elements that the
  // compressor was made for.
  virtual Leg begin(std::span<const float> tensor, const Turn& turn) = 0;
  // Empty: there is no further leg. An answer of gather whose bytes are no code of this method
  // gives none, too, and is_sound() is false then.
  virtual std::optional<Leg> next(const Answer& answer) = 0;
  virtual bool is_sound() const { return true; }
  // The mean over all ranks.
  virtual void write_mean(std::span<float> mean) = 0;
  // What write_mean() would write if all ranks had sent what this rank sent.
  virtual void write_sent(std::span<float> sent) const = 0;
  // The step has ended well.
  virtual void commit() {}
  virtual std::vector<Kept> kept() { return {}; }
};

}  // namespace infold::codec
