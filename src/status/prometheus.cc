// SPDX-License-Identifier: Apache-2.0
#include "status/prometheus.h"

#include "base/check.h"

namespace infold::status {
namespace {

void append_escaped(std::string& text, std::string_view value) {
  for (const char each : value) {
    switch (each) {
      case '\\': text += "\\\\"; break;
      case '"': text += "\\\""; break;
      case '\n': text += "\\n"; break;
      default: text += each;
    }
  }
}

}  // namespace

void PrometheusText::begin(Metric metric, std::string_view name, std::string_view help) {
  const bool is_counter = metric == Metric::counter;
  CHECK(is_counter == name.ends_with("_total"));
  name_ = name;
  text_ += "# HELP " + name_ + " ";
  text_ += help;
  text_ += "\n# TYPE " + name_ + (is_counter ? " counter\n" : " gauge\n");
}

void PrometheusText::sample(std::initializer_list<Label> labels, std::uint64_t value) {
  CHECK(!name_.empty());
  text_ += name_;
  char before = '{';
  for (const Label& label : labels) {
    text_ += before;
    text_ += label.name;
    text_ += "=\"";
    append_escaped(text_, label.value);
    text_ += '"';
    before = ',';
  }
  text_ += labels.size() == 0 ? " " : "} ";
  text_ += std::to_string(value) + "\n";
}

void PrometheusText::single(Metric metric, std::string_view name, std::string_view help,
                            std::uint64_t value) {
  begin(metric, name, help);
  sample({}, value);
}

}  // namespace infold::status
