// SPDX-License-Identifier: Apache-2.0
//
// From names and numbers that a user gives to the compressor and the memory of a parameter, or the
// reason why there are none.
#pragma once

#include <memory>
#include <string>

#include <infold/result.h>

#include "codec/compress/method.h"
#include "codec/memories/memory.h"

namespace infold::codec {

struct CompressionRequest {
  std::string method = "none";
  Settings::Given settings;
  std::string memory = "none";
  Settings::Given memory_settings;
};

// Stays valid until the process ends.
class CompressionChoice {
 public:
  static Result<CompressionChoice> make(const CompressionRequest& request);

  // Errors name the method and what the shape lacks.
  Result<std::unique_ptr<Compressor>> make_compressor(const Shape& shape,
                                                      std::uint32_t world) const;
  std::unique_ptr<Memory> make_memory(const Shape& shape) const;

  const Method& method() const { return *method_; }
  const MemoryKind& memory() const { return *memory_; }
  const Settings& settings() const { return settings_; }
  const Settings& memory_settings() const { return memory_settings_; }
  // As in "topk ratio=0.01, memory residual decay=1". Equal texts mean equal codes.
  std::string text() const;

 private:
  const Method* method_ = nullptr;
  const MemoryKind* memory_ = nullptr;
  Settings settings_;
  Settings memory_settings_;
};

}  // namespace infold::codec
