// SPDX-License-Identifier: Apache-2.0
#include "compress/choice.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace infold::compress {
namespace {

tl::unexpected<Error> refuse(std::string detail) {
  return tl::unexpected(Error{Code::invalid_argument, std::move(detail), -1, ""});
}

// Multiplies everything that a compressor writes by a factor.
class Shrunk final : public Compressor {
 public:
  Shrunk(std::unique_ptr<Compressor> inner, double factor)
      : inner_(std::move(inner)), factor_(static_cast<float>(factor)) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    return inner_->begin(tensor, turn);
  }
  std::optional<Leg> next(const Answer& answer) override { return inner_->next(answer); }
  bool is_sound() const override { return inner_->is_sound(); }
  void write_mean(std::span<float> mean) override {
    inner_->write_mean(mean);
    shrink(mean);
  }
  void write_sent(std::span<float> sent) const override {
    inner_->write_sent(sent);
    shrink(sent);
  }
  bool fell_back() const override { return inner_->fell_back(); }
  void commit() override { inner_->commit(); }
  std::vector<Kept> kept() override { return inner_->kept(); }

 private:
  void shrink(std::span<float> values) const {
    for (float& value : values) value *= factor_;
  }

  std::unique_ptr<Compressor> inner_;
  float factor_;
};

}  // namespace

Result<CompressionChoice> CompressionChoice::make(const CompressionRequest& request) {
  CompressionChoice choice;
  choice.method_ = find_method(request.method);
  if (choice.method_ == nullptr) {
    return refuse(
        fmt::format("there is no method \"{}\"; there are: {}", request.method, method_names()));
  }
  choice.memory_ = find_memory(request.memory);
  if (choice.memory_ == nullptr) {
    return refuse(
        fmt::format("there is no memory \"{}\"; there are: {}", request.memory, memory_names()));
  }
  auto settings = Settings::make(choice.method_->settings, request.settings, request.method);
  if (!settings) return tl::unexpected(settings.error());
  choice.settings_ = *std::move(settings);
  auto of_memory =
      Settings::make(choice.memory_->settings, request.memory_settings, request.memory);
  if (!of_memory) return tl::unexpected(of_memory.error());
  choice.memory_settings_ = *std::move(of_memory);
  if (auto problem = check_pair(choice.pair())) {
    return tl::unexpected(*std::move(problem));
  }
  return choice;
}

Result<std::unique_ptr<Compressor>> CompressionChoice::make_compressor(const Shape& shape,
                                                                       std::uint32_t world) const {
  if (method_->check) {
    if (auto problem = method_->check(shape, settings_, world)) {
      return tl::unexpected(*std::move(problem));
    }
  }
  std::unique_ptr<Compressor> compressor = method_->make(shape, settings_);
  const double factor = shrinkage(pair(), shape);
  if (factor == 1) return compressor;
  return std::make_unique<Shrunk>(std::move(compressor), factor);
}

std::unique_ptr<Memory> CompressionChoice::make_memory(const Shape& shape) const {
  return memory_->make(shape.elements, memory_settings_);
}

std::string CompressionChoice::text() const {
  const auto with = [](const std::string& name, const std::string& settings) {
    return settings.empty() ? name : name + " " + settings;
  };
  return fmt::format("{}, memory {}", with(method_->name, settings_.text()),
                     with(memory_->name, memory_settings_.text()));
}

}  // namespace infold::compress
