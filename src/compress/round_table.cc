// SPDX-License-Identifier: Apache-2.0
#include "compress/round_table.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/check.h"

namespace infold::compress {
namespace {

template <typename T>
std::vector<T> elements_of(std::span<const std::byte> bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> sum_lanes(std::span<const Leg> legs) {
  std::vector<std::uint32_t> sums(legs[0].sent.size() / sizeof(std::uint32_t));
  for (const Leg& leg : legs) {
    const auto lanes = elements_of<std::uint32_t>(leg.sent);
    std::transform(sums.begin(), sums.end(), lanes.begin(), sums.begin(), std::plus<>());
  }
  return bytes_of(sums);
}

std::vector<std::byte> find_maxima(std::span<const Leg> legs) {
  auto most = elements_of<float>(legs[0].sent);
  for (const Leg& leg : legs) {
    const auto values = elements_of<float>(leg.sent);
    std::transform(most.begin(), most.end(), values.begin(), most.begin(),
                   [](float a, float b) { return std::max(a, b); });
  }
  return bytes_of(most);
}

// Long double holds the sums of the tests' floats exactly, so the mean is rounded only once.
std::vector<std::byte> find_means(std::span<const Leg> legs) {
  std::vector<long double> sums(legs[0].sent.size() / sizeof(float));
  for (const Leg& leg : legs) {
    const auto values = elements_of<float>(leg.sent);
    std::transform(sums.begin(), sums.end(), values.begin(), sums.begin(), std::plus<>());
  }
  std::vector<float> means(sums.size());
  std::transform(sums.begin(), sums.end(), means.begin(), [&legs](long double sum) {
    return static_cast<float>(sum / static_cast<long double>(legs.size()));
  });
  return bytes_of(means);
}

std::vector<std::byte> find_row_means(std::span<const Leg> legs) {
  std::vector<std::vector<std::byte>> wholes;
  std::vector<Leg> dense;
  for (const Leg& leg : legs) {
    const auto values = elements_of<float>(leg.sent);
    CHECK(values.size() == leg.indices.size());
    std::vector<float> whole(leg.elements);
    for (std::size_t i = 0; i < values.size(); ++i) whole.at(leg.indices[i]) = values[i];
    wholes.push_back(bytes_of(whole));
    dense.push_back({Travel::floats, wholes.back()});
  }
  return find_means(dense);
}

}  // namespace

bool RoundTable::meet(std::span<const std::vector<float>> tensors, Turn turn) {
  CHECK(tensors.size() == ranks_.size());
  elements_ = tensors[0].size();
  bytes_sent_ = bytes_received_ = 0;
  reduced_.clear();
  turn.world = static_cast<std::uint32_t>(ranks_.size());
  std::vector<Leg> legs;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    turn.rank = static_cast<std::uint32_t>(rank);
    legs.push_back(ranks_[rank]->begin(tensors[rank], turn));
  }
  while (!legs.empty()) {
    if (!answer(legs)) return false;
  }
  return true;
}

// Answers the legs and replaces them by the next ones.
bool RoundTable::answer(std::vector<Leg>& legs) {
  std::size_t most = 0;
  std::size_t all = 0;
  for (const Leg& leg : legs) {
    CHECK(leg.travel == legs[0].travel);
    most = std::max(most, leg.sent.size() + leg.indices.size_bytes());
    all += leg.sent.size();
  }
  bytes_sent_ += most;
  Answer answer;
  if (legs[0].travel == Travel::gather) {
    bytes_received_ += all - legs[0].sent.size();
    gathered_.clear();
    for (const Leg& leg : legs) gathered_.emplace_back(leg.sent.begin(), leg.sent.end());
    parts_.assign(gathered_.begin(), gathered_.end());
    answer.gathered = parts_;
  } else {
    bytes_received_ += legs[0].sent.size();
    reduce(legs);
    answer.reduced = reduced_.back();
  }
  return pass_on(legs, answer);
}

void RoundTable::reduce(std::span<const Leg> legs) {
  for (const Leg& leg : legs) {
    CHECK(leg.travel == Travel::rows || leg.sent.size() == legs[0].sent.size());
  }
  switch (legs[0].travel) {
    case Travel::lanes: reduced_.push_back(sum_lanes(legs)); break;
    case Travel::maxima: reduced_.push_back(find_maxima(legs)); break;
    case Travel::floats: reduced_.push_back(find_means(legs)); break;
    case Travel::rows: reduced_.push_back(find_row_means(legs)); break;
    case Travel::gather: break;
  }
}

bool RoundTable::pass_on(std::vector<Leg>& legs, const Answer& answer) {
  std::vector<Leg> next;
  for (const std::unique_ptr<Compressor>& rank : ranks_) {
    if (std::optional<Leg> leg = rank->next(answer)) next.push_back(*leg);
    if (!rank->is_sound()) return false;
  }
  CHECK(next.empty() || next.size() == ranks_.size());
  legs = std::move(next);
  return true;
}

void RoundTable::commit() {
  for (const std::unique_ptr<Compressor>& rank : ranks_) rank->commit();
}

std::vector<float> RoundTable::mean_of(std::size_t rank) {
  std::vector<float> mean(elements_);
  ranks_[rank]->write_mean(mean);
  return mean;
}

std::vector<float> RoundTable::sent_by(std::size_t rank) const {
  std::vector<float> sent(elements_);
  ranks_[rank]->write_sent(sent);
  return sent;
}

}  // namespace infold::compress
