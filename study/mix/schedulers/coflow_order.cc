// SPDX-License-Identifier: Apache-2.0
//
// Makes one pass over all loads for each place in the order.
#include "study/mix/schedulers/coflow_order.h"

#include <algorithm>
#include <map>

namespace infold::mix {
namespace {

double time_on(const Coflow& coflow, std::uint32_t link) {
  const auto found = std::find_if(coflow.loads.begin(), coflow.loads.end(),
                                  [link](const LinkLoad& load) { return load.link == link; });
  return found == coflow.loads.end() ? 0 : found->time;
}

// Returns the most loaded link, and the first one among equals. If nothing has a load, returns no
// link.
std::uint32_t bottleneck(std::span<const Coflow> coflows, const std::vector<std::size_t>& left) {
  std::map<std::uint32_t, double> times;
  for (const std::size_t index : left) {
    for (const LinkLoad& load : coflows[index].loads) times[load.link] += load.time;
  }
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? 0 : most->first;
}

}  // namespace

std::vector<std::size_t> coflow_order(std::span<const Coflow> coflows) {
  std::vector<std::size_t> left(coflows.size());
  std::vector<double> weights(coflows.size());
  for (std::size_t i = 0; i < coflows.size(); ++i) {
    left[i] = i;
    weights[i] = coflows[i].weight;
  }
  std::vector<std::size_t> order(coflows.size());
  for (std::size_t place = coflows.size(); place-- > 0;) {
    const std::uint32_t link = bottleneck(coflows, left);
    // Compares weight / time without dividing, because some coflows need no time on the link.
    const auto goes_later = [&](std::size_t a, std::size_t b) {
      return weights[a] * time_on(coflows[b], link) < weights[b] * time_on(coflows[a], link);
    };
    auto last = left.end();
    for (auto each = left.begin(); each != left.end(); ++each) {
      if (time_on(coflows[*each], link) <= 0) continue;
      if (last == left.end() || !goes_later(*last, *each)) last = each;
    }
    if (last == left.end()) last = left.end() - 1;  // coflows without any load
    const std::size_t chosen = *last;
    const double chosen_time = time_on(coflows[chosen], link);
    left.erase(last);
    order[place] = chosen;
    if (chosen_time <= 0) continue;
    for (const std::size_t other : left) {
      weights[other] -= weights[chosen] * time_on(coflows[other], link) / chosen_time;
    }
  }
  return order;
}

}  // namespace infold::mix
