// SPDX-License-Identifier: Apache-2.0
#include "compress/memories/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

double carried_errors(const Pair& pair) {
  return pair.memory.carries_errors ? pair.memory.carries_errors(pair.memory_settings) : 0;
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

std::optional<Error> check_pair(const Pair& pair) {
  const double carried = carried_errors(pair);
  if (carried == 0) return std::nullopt;
  const Method& method = pair.method;
  const auto refuse = [&](const std::string& why) {
    return Error{Code::unsupported,
                 fmt::format("{} with memory {} diverges: {}", method.name, pair.memory.name, why),
                 -1, ""};
  };
  switch (method.bias) {
    case Bias::none: break;
    case Bias::direction: return refuse("it sends directions without magnitudes; take memory none");
    case Bias::unknown: return refuse("no bound of its error is known; take memory none");
    case Bias::unbiased:
      if (!method.variance) {
        return refuse("its error may be larger than the tensor; take memory none");
      }
      break;
    case Bias::contractive: {
      const double share = method.error_share ? method.error_share(pair.settings) : 0;
      if (share * carried * carried < 1) break;
      return refuse(
          fmt::format("with {} its error is up to {:.2f} of the tensor's energy; take finer "
                      "settings, or memory none",
                      pair.settings.text(), share));
    }
  }
  return std::nullopt;
}

double shrinkage(const Pair& pair, const Shape& shape) {
  if (pair.method.bias != Bias::unbiased || carried_errors(pair) == 0) return 1;
  return 1 / (1 + pair.method.variance(shape, pair.settings));
}

}  // namespace infold::compress
