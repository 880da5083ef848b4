// SPDX-License-Identifier: Apache-2.0
//
// Writes metrics as Prometheus and its kin read them: text, one line for each sample, below two
// lines that say what the metric is. Knows nothing of what is measured.
//
//   PrometheusText text;
//   text.begin(Metric::counter, "infold_packets_total", "Packets by what became of them.");
//   text.sample({{"verdict", "completed"}}, 12);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace infold::status {

// A counter only grows, but for a restart, and its name ends in _total.
enum class Metric : std::uint8_t { counter, gauge };

class PrometheusText {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  struct Label {
    std::string_view name;
    std::string_view value;  // any text in UTF-8
  };

  // Requires: names and help of letters, digits and the like; a name begins once.
  void begin(Metric metric, std::string_view name, std::string_view help);
  // One value of the metric that was begun last.
  void sample(std::initializer_list<Label> labels, std::uint64_t value);
  // A metric of one value.
  void single(Metric metric, std::string_view name, std::string_view help, std::uint64_t value);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace infold::status
