// SPDX-License-Identifier: Apache-2.0
//
// Turns the names and numbers that a user gives into the compressor and the memory of a parameter,
// or says why that is impossible.
#pragma once

#include <memory>
#include <string>

#include <infold/result.h>

#include "compress/memories/memory.h"
#include "compress/method.h"

namespace infold::compress {

struct CompressionRequest {
  std::string method = "none";
  Settings::Given settings;
  std::string memory = "none";
  Settings::Given memory_settings;
};

// A choice stays valid until the process ends.
class CompressionChoice {
 public:
  static Result<CompressionChoice> make(const CompressionRequest& request);

  // Fails if the method cannot compress a parameter of this shape in a job of `world` ranks.
  Result<std::unique_ptr<Compressor>> make_compressor(const Shape& shape,
                                                      std::uint32_t world) const;
  std::unique_ptr<Memory> make_memory(const Shape& shape) const;

  const Method& method() const { return *method_; }
  const MemoryKind& memory() const { return *memory_; }
  const Settings& settings() const { return settings_; }
  const Settings& memory_settings() const { return memory_settings_; }
  // For example "topk ratio=0.01, memory residual decay=1". Equal texts mean equal codes.
  std::string text() const;

 private:
  Pair pair() const { return {*method_, settings_, *memory_, memory_settings_}; }

  const Method* method_ = nullptr;
  const MemoryKind* memory_ = nullptr;
  Settings settings_;
  Settings memory_settings_;
};

}  // namespace infold::compress
