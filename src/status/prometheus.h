// SPDX-License-Identifier: Apache-2.0
//
// Writes metrics in Prometheus' text format: one line for each sample, below two lines that
// describe the metric. This module does not know any of infold's metrics.
//
//   PrometheusText text;
//   text.begin(Metric::counter, "infold_packets_total", "Packets by verdict.");
//   text.sample({{"verdict", "completed"}}, 12);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace infold::status {

// A counter only grows, except that a restart sets it to 0. A counter's name ends in _total.
enum class Metric : std::uint8_t { counter, gauge };

class PrometheusText {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  struct Label {
    std::string_view name;
    std::string_view value;  // any text in UTF-8
  };

  // Starts a metric. Requires: `name` and `help` need no escapes; each name begins only once.
  void begin(Metric metric, std::string_view name, std::string_view help);
  // Adds one value of the metric that the last begin() named.
  void sample(std::initializer_list<Label> labels, std::uint64_t value);
  // Writes a metric with one value and no labels.
  void single(Metric metric, std::string_view name, std::string_view help, std::uint64_t value);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace infold::status
