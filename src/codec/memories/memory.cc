// SPDX-License-Identifier: Apache-2.0
#include "codec/memories/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "codec/memories/kinds.h"

namespace infold::codec {
namespace {

bool adds_up_errors(const MemoryKind& memory) {
  return memory.name == "residual" || memory.name == "ef-sign" || memory.name == "dgc";
}

}  // namespace

std::span<const MemoryKind> memory_kinds() {
  static const std::vector<MemoryKind> kinds = {no_memory(), residual_memory(), momentum_memory(),
                                                dgc_memory(), ef_sign_memory()};
  return kinds;
}

const MemoryKind* find_memory(std::string_view name) {
  const std::span<const MemoryKind> kinds = memory_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [name](const MemoryKind& each) { return each.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

std::string memory_names() {
  std::string names;
  for (const MemoryKind& each : memory_kinds()) names += (names.empty() ? "" : ", ") + each.name;
  return names;
}

std::optional<Error> check_memory(const Method& method, const MemoryKind& memory) {
  if (!adds_up_errors(memory)) return std::nullopt;
  const auto refuse = [&](const char* why) {
    return Error{Code::unsupported,
                 fmt::format("{} with memory {} diverges: {}", method.name, memory.name, why), -1,
                 ""};
  };
  if (method.bias == Bias::direction) {
    return refuse("what it sends has no size, so the residual is no error; take memory none");
  }
  if (method.bias == Bias::unknown) {
    return refuse("no bound of its error is known; take memory none");
  }
  if (method.bias == Bias::unbiased && !method.variance) {
    return refuse("its error may be larger than the tensor; take memory none");
  }
  return std::nullopt;
}

double shrinkage(const Method& method, const MemoryKind& memory, const Shape& shape,
                 const Settings& settings) {
  if (method.bias != Bias::unbiased || !adds_up_errors(memory)) return 1;
  return 1 / (1 + method.variance(shape, settings));
}

}  // namespace infold::codec
