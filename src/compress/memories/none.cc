// SPDX-License-Identifier: Apache-2.0
#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

class NoMemory final : public Memory {
 public:
  std::span<const float> take_in(std::span<const float> gradient) override { return gradient; }
  void see(const Compressor&) override {}
  void commit() override {}
  std::vector<Kept> kept() override { return {}; }
};

}  // namespace

MemoryKind no_memory() {
  return {.name = "none",
          .summary = "what is not sent is lost",
          .make = [](std::size_t, const Settings&) -> std::unique_ptr<Memory> {
            return std::make_unique<NoMemory>();
          }};
}

}  // namespace infold::compress
