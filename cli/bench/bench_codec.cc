// SPDX-License-Identifier: Apache-2.0
//
// infold bench codec: measures compression methods on one thread. It compares their speed with
// memcpy, and reports the bits that they send and the error of the mean.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <infold/compression_benchmark.h>

#include "cli/bench/this_machine.h"
#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "compress/method.h"

namespace infold::cli {
namespace {

// The same length as in the published table of errors.
constexpr std::size_t kErrorElements = 131072;

// Block formats of packets are the rivals of every method: they send few bits and no method is
// needed for them.
constexpr std::string_view kFormats[] = {"bfp16", "bfp8"};

std::optional<WireFormat> format_of(const CompressionOptions& method) {
  const bool is_format =
      std::find(std::begin(kFormats), std::end(kFormats), method.method) != std::end(kFormats);
  return is_format ? std::optional(wire_of(method.method)) : std::nullopt;
}

// Reads a method and its options, such as "topk ratio=0.01".
std::optional<CompressionOptions> read_method(const std::string& text) {
  std::istringstream words(text);
  CompressionOptions options;
  if (!(words >> options.method)) return std::nullopt;
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(word.c_str() + sign + 1, &end);
    if (end == word.c_str() + sign + 1 || *end != '\0') return std::nullopt;
    options.settings.emplace_back(word.substr(0, sign), value);
  }
  return options;
}

std::string text_of(const CompressionOptions& options) {
  std::string text = options.method;
  for (const auto& [name, value] : options.settings) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string or_dash(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

class BenchCodec final : public Command {
 public:
  std::string_view name() const override { return "bench codec"; }
  std::string_view summary() const override {
    return "Measure compression methods and block formats: speed, bits sent, error of the mean";
  }

  void declare(Options& options) override {
    options.list("--method", "METHOD", "a method and its settings, as in 'topk ratio=0.01'",
                 "Only this method, such as 'topk ratio=0.01', or bfp16 or bfp8",
                 [this](const std::string& text) {
                   auto method = read_method(text);
                   if (method) methods_.push_back(*std::move(method));
                   return method.has_value();
                 });
    options.bytes("--bytes", bytes_, {4, 4'000'000'000},
                  "Size of the tensor of f32 whose speed is measured");
    options.whole<std::uint32_t>("--ranks", world_, {1, 1024}, "Ranks, for speed and bits");
    options.real("--seconds", how_.seconds, {0.001, 60}, "Processor time for each method");
    options.whole_list("--errors", error_worlds_, {1, 1024},
                       "Numbers of ranks to measure errors of");
    options.path("--gradients", folder_,
                 "Measure with these: a folder of files *.f32, each the gradient of one rank",
                 "FOLDER");
    options.examples(
        "  infold bench codec\n"
        "  infold bench codec --method shared --method 'thc bits=4' --errors 4,8,16,64\n"
        "\n"
        "  encode, decode  GB/s of f32 tensor on one thread, and the ratio to a memcpy beside it\n"
        "  sent, received  bits for each element, without headers of packets\n"
        "  formula         bits that are sent by the method's own formula\n"
        "  error           squared error of the mean after one step without a memory, as a part\n"
        "                  of the mean's square; of heavy tails, or of --gradients");
  }

  ExitCode run(Output& output) override {
    if (methods_.empty()) {
      for (const std::string_view each : kFormats) {
        methods_.push_back({.method = std::string(each)});
      }
      for (const compress::Method& method : compress::built_in_methods()) {
        methods_.push_back({.method = method.name});
      }
    }
    for (const CompressionOptions& method : methods_) {
      if (const auto problem = problem_of(method)) return refuse(output, *problem);
    }
    if (bytes_ % sizeof(float) != 0) {
      output.log("infold bench codec: --bytes {}: an element of f32 has {} bytes\n", bytes_,
                 sizeof(float));
      return ExitCode::kBadUsage;
    }
    if (!prepare_gradients(output)) return ExitCode::kBadUsage;
    how_.world = static_cast<int>(world_);
    how_.elements = bytes_ / sizeof(float);
    if (!folder_.empty()) {
      how_.gradient = gradients_.front();
      how_.elements = how_.gradient.size();
    }
    output.text("{}, load {:.1f}\n", this_machine(), load());
    output.text("{} elements{}, {} ranks\n\n", how_.elements,
                folder_.empty() ? "" : " of a gradient", world_);
    output.text("{:<24} {:>7} {:>6} {:>7} {:>6} {:>7} {:>8} {:>8}", "method", "encode", "ratio",
                "decode", "ratio", "sent", "received", "formula");
    for (const std::uint64_t world : error_worlds_) {
      output.text(" {:>9}", fmt::format("error {}", world));
    }
    output.text("\n");
    for (const CompressionOptions& method : methods_) {
      const ExitCode code = measure(output, method);
      if (code != ExitCode::kDone) return code;
    }
    return ExitCode::kDone;
  }

 private:
  static std::optional<Error> problem_of(const CompressionOptions& method) {
    if (format_of(method)) {
      if (method.settings.empty()) return std::nullopt;
      return Error{Code::invalid_argument, method.method + " has no settings", -1, ""};
    }
    const auto known = Compression::create(method);
    return known ? std::nullopt : std::optional(known.error());
  }

  ExitCode measure(Output& output, const CompressionOptions& method) const {
    const auto format = format_of(method);
    const auto speed =
        format ? measure_format_speed(*format, how_) : measure_codec_speed(method, how_);
    if (!speed) return refuse(output, speed.error());
    nlohmann::ordered_json object = {{"method", text_of(method)},
                                     {"elements", how_.elements},
                                     {"world", world_},
                                     {"copy_gbps", speed->copy_gbps},
                                     {"encode_gbps", speed->encode_gbps},
                                     {"encode_ratio", speed->encode_ratio},
                                     {"decode_gbps", speed->decode_gbps},
                                     {"decode_ratio", speed->decode_ratio},
                                     {"bits_sent", speed->bits_sent},
                                     {"bits_received", speed->bits_received}};
    if (speed->bits_of_formula) object["bits_of_formula"] = *speed->bits_of_formula;
    output.text("{:<24} {:>7.2f} {:>6.2f} {:>7.2f} {:>6.2f} {:>7.3f} {:>8.3f} {:>8}",
                text_of(method), speed->encode_gbps, speed->encode_ratio, speed->decode_gbps,
                speed->decode_ratio, speed->bits_sent, speed->bits_received,
                or_dash(speed->bits_of_formula, 3));
    for (const std::uint64_t world : error_worlds_) {
      const auto gradients = std::span(gradients_).first(world);
      const auto error = format ? measure_format_error(*format, gradients)
                                : measure_codec_error(method, gradients);
      if (!error) {
        output.text("\n");
        return refuse(output, error.error());
      }
      object[fmt::format("error_{}", world)] = *error;
      output.text(" {:>9.1e}", *error);
    }
    output.text("\n");
    output.object(object);
    return ExitCode::kDone;
  }

  static ExitCode refuse(Output& output, const Error& error) {
    output.log("infold bench codec: {}\n", error.message);
    return ExitCode::kBadUsage;
  }

  // A rank's gradient does not depend on the number of ranks, so one set serves all worlds. Returns
  // false after it has printed an error.
  bool prepare_gradients(Output& output) {
    std::uint64_t most = 0;
    for (const std::uint64_t world : error_worlds_) most = std::max(most, world);
    if (!folder_.empty()) return read_gradients(output, most);
    for (int rank = 0; rank < static_cast<int>(most); ++rank) {
      gradients_.push_back(heavy_tailed_gradient(kErrorElements, 1, rank));
    }
    return true;
  }

  bool read_gradients(Output& output, std::uint64_t wanted) {
    std::vector<std::filesystem::path> files;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, failure)) {
      if (entry.path().extension() == ".f32") files.push_back(entry.path());
    }
    if (failure) return refuse_gradients(output, folder_ + ": " + failure.message());
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      std::vector<float> gradient(std::filesystem::file_size(file, failure) / sizeof(float));
      std::ifstream stream(file, std::ios::binary);
      stream.read(reinterpret_cast<char*>(gradient.data()),
                  static_cast<std::streamsize>(gradient.size() * sizeof(float)));
      if (!stream || gradient.empty()) {
        return refuse_gradients(output, "cannot read floats from " + file.string());
      }
      const bool is_finite = std::all_of(gradient.begin(), gradient.end(),
                                         [](float each) { return std::isfinite(each); });
      if (!is_finite) {
        return refuse_gradients(output, file.string() + " has numbers that are not finite");
      }
      if (!gradients_.empty() && gradient.size() != gradients_.front().size()) {
        return refuse_gradients(
            output, fmt::format("{} has {} floats, and {} has {}; take gradients of one model",
                                file.string(), gradient.size(), files.front().string(),
                                gradients_.front().size()));
      }
      gradients_.push_back(std::move(gradient));
    }
    if (gradients_.size() >= wanted) return true;
    return refuse_gradients(output, fmt::format("{} has {} files *.f32, and --errors wants {}",
                                                folder_, gradients_.size(), wanted));
  }
  static bool refuse_gradients(Output& output, const std::string& why) {
    output.log("infold bench codec: --gradients: {}\n", why);
    return false;
  }

  std::vector<CompressionOptions> methods_;
  std::uint64_t bytes_ = sizeof(float) * CodecSpeedOptions{}.elements;
  CodecSpeedOptions how_;
  std::uint32_t world_ = 8;
  std::vector<std::uint64_t> error_worlds_ = {4, 8, 16, 64};
  std::string folder_;
  std::vector<std::vector<float>> gradients_;  // one for each rank, to measure errors with
};

}  // namespace

std::unique_ptr<Command> make_bench_codec_command() { return std::make_unique<BenchCodec>(); }

}  // namespace infold::cli
