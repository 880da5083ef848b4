// SPDX-License-Identifier: Apache-2.0
//
// What one rank remembers of one parameter, beside its compressor, from step to step: what was not
// sent, or a momentum.
//
//   take_in() -> the tensor to compress -> see(), from the compressor's last leg on -> commit()
//
// Nothing changes before commit(). A step that failed begins again with take_in(), and has the same
// bits. Not thread-safe.
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

#include "codec/compress/method.h"

namespace infold::codec {

class Memory {
 public:
  virtual ~Memory() = default;

  // What the compressor gets instead of the gradient. Borrowed until the next call of take_in().
  virtual std::span<const float> take_in(std::span<const float> gradient) = 0;
  // What others see of it.
  virtual void see(const Compressor& compressor) = 0;
  virtual void commit() = 0;
  virtual std::vector<Kept> kept() = 0;
  // The learning rate of the step that begins. Of memories that add up gradients of several rates.
  virtual void set_rate([[maybe_unused]] double rate) {}
  // From the mean that the compressor gives to the mean of gradients.
  virtual void finish([[maybe_unused]] std::span<float> mean) const {}
};

struct MemoryKind {
  std::string name;
  std::string summary;
  std::vector<Setting> settings;
  std::function<std::unique_ptr<Memory>(std::size_t elements, const Settings&)> make;
};

// none, residual, momentum, dgc, ef-sign.
std::span<const MemoryKind> memory_kinds();
const MemoryKind* find_memory(std::string_view name);
// With commas.
std::string memory_names();

// Why this method must not have this memory; empty if it may. A residual adds up what was not sent,
// and grows without bound if that is more than what was there. So an unbiased method is shrunk for
// it where its variance is known, and refused where it is not.
std::optional<Error> check_memory(const Method& method, const MemoryKind& memory);
// What a compressor's results are multiplied by, so that a residual converges: 1 / (1 + variance)
// of an unbiased method that has a residual, otherwise 1.
double shrinkage(const Method& method, const MemoryKind& memory, const Shape& shape,
                 const Settings& settings);

}  // namespace infold::codec
