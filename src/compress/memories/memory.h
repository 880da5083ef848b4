// SPDX-License-Identifier: Apache-2.0
//
// What one rank remembers about one parameter from step to step, apart from its compressor: what
// was not sent, or a momentum.
//
//   take_in() -> the tensor to compress -> see(), from the compressor's last leg on -> commit()
//
// Nothing changes before commit(), so a step that failed begins again with take_in() and gives the
// same bits. A Memory is not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infold/compressor.h>

#include "compress/method.h"

namespace infold::compress {

class Memory {
 public:
  virtual ~Memory() = default;

  // Returns what the compressor gets instead of the gradient. It stays valid until the next
  // take_in().
  virtual std::span<const float> take_in(std::span<const float> gradient) = 0;
  // Reads from the compressor what the other ranks see of the tensor (write_sent()).
  virtual void see(const Compressor& compressor) = 0;
  virtual void commit() = 0;
  virtual std::vector<Kept> kept() = 0;
  // Sets the learning rate of the step that begins. It matters to memories that add up gradients of
  // several rates.
  virtual void set_rate([[maybe_unused]] double rate) {}
  // Turns the mean that the compressor wrote into the mean of gradients.
  virtual void finish([[maybe_unused]] std::span<float> mean) const {}
};

struct MemoryKind {
  std::string name;
  std::string summary;
  std::vector<Setting> settings;
  std::function<std::unique_ptr<Memory>(std::size_t elements, const Settings&)> make;
  // The part of a step's error that is added to the next step's gradient, 0 to 1. Absent: none.
  std::function<double(const Settings&)> carries_errors;
};

// Returns none, residual, momentum, dgc and ef-sign.
std::span<const MemoryKind> memory_kinds();
const MemoryKind* find_memory(std::string_view name);
// The names, separated by commas.
std::string memory_names();

// A method and a memory with their settings.
struct Pair {
  const Method& method;
  const Settings& settings;
  const MemoryKind& memory;
  const Settings& memory_settings;
};
// Returns why the two must not be used together, or nothing if they may. A memory that adds up what
// was not sent diverges if the error can be larger than the tensor. An unbiased method is therefore
// shrunk for such a memory if its variance is known, and refused if it is not.
std::optional<Error> check_pair(const Pair& pair);
// Returns the factor by which a compressor's results are multiplied so that errors that add up
// converge. It is 1 / (1 + variance) for an unbiased method beside such a memory, and otherwise 1.
double shrinkage(const Pair& pair, const Shape& shape);

}  // namespace infold::compress
