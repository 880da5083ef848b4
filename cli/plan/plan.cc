// SPDX-License-Identifier: Apache-2.0
//
// infold plan: predicts the time of an all-reduce for each place where the sums could be made,
// before anything is installed. It turns options into a predict::Question. plan_processors.cc has
// the costs of processors, plan_table.cc prints answers, and plan_measure.cc measures them in a
// lab.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/line/quantity.h"
#include "cli/plan/plan_measure.h"
#include "cli/plan/plan_processors.h"
#include "cli/plan/plan_table.h"
#include "core/stripe.h"
#include "encoding/format_choice.h"
#include "study/desk/interrupt.h"
#include "study/measure/cost/processor_costs.h"
#include "study/predict/advice.h"

namespace infold::cli {
namespace {

// No modem is slower than this, and no product is faster. Other rates are typing errors.
constexpr Range<double> kRates = {1e6, 10e12};

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                               DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
// fixed32 and digits need an exchange before the sum, but the model has only one exchange.
constexpr WireFormat kWires[] = {WireFormat::automatic, WireFormat::native, WireFormat::bfp32,
                                 WireFormat::bfp16, WireFormat::bfp8};

template <std::size_t kCount, typename Value>
std::vector<std::string> names_of(const Value (&values)[kCount], const char* (*name)(Value)) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name(value));
  return names;
}

// Requires: a name that names_of lists. The parser refuses all other names.
template <std::size_t kCount, typename Value>
Value named(const Value (&values)[kCount], const char* (*name)(Value), std::string_view wanted) {
  const auto* const found = std::find_if(std::begin(values), std::end(values),
                                         [&](Value value) { return name(value) == wanted; });
  CHECK(found != std::end(values));
  return *found;
}

// Returns the rate in the spelling that the option accepts.
std::string rate_word(double bits_per_second) {
  return bits_per_second < predict::kUnlimited ? short_rate(bits_per_second) : "none";
}

class Plan final : public Command {
 public:
  std::string_view name() const override { return "plan"; }
  std::string_view summary() const override {
    return "Predict the time of an all-reduce for each place of its sums, and whether infold helps";
  }

  void declare(Options& options) override {
    options.whole<std::uint32_t>("--ranks", workers_, {2, INFOLD_WORKERS_MAX},
                                 "Number of ranks, each on a host of its own");
    options.rate_or_none("--link", link_, kRates, predict::kUnlimited,
                         "Rate of each rank's link in bits per second, each way; none where "
                         "nothing limits it");
    options.list(
        "--place", "host:RATE|switch|workers",
        fmt::format("switch, workers, or host:RATE with none or a rate from {} to {}, at most {} "
                    "hosts in all",
                    short_rate(kRates.low), short_rate(kRates.high), core::Stripe::kSitesMax),
        "A place for sums: host:RATE (a host with one link), switch (in the path, with a link for "
        "each rank) or workers (the ranks' own hosts)",
        [this](const std::string& typed) { return add_site(typed); });
    options.bytes("--bytes", size_, {1, 1'000'000'000'000}, "Size of the tensor in bytes");
    options.choice("--dtype", dtype_, names_of(kTypes, data_type_name),
                   "Element type of the tensor");
    options.choice("--format", wire_, names_of(kWires, wire_format_name),
                   "Wire format of infold; a ring sends the elements unchanged");
    options.whole<std::uint32_t>("--mtu", framing_.mtu, {576, 65535}, "MTU of the path in bytes");
    options.real("--rtt-us", rtt_us_, {0, 1'000'000},
                 "Round-trip time between two hosts in microseconds");
    options.whole<std::uint32_t>("--frame-bytes", frame_bytes_, {0, 100},
                                 "Bytes that a link adds to an IP packet: 38 on Ethernet, 14 "
                                 "on links that tc shapes, as with --verify");
    options.whole<std::uint32_t>("--threads", threads_, {1, 64},
                                 "Threads of infold switch on each host");
    processors_.declare(options);
    options.whole<std::uint32_t>("--shared-processors", shared_processors_, {0, 1024},
                                 "Processors of the one machine that runs all ranks and sites; "
                                 "0 where each has its own machine");
    options.flag(
        "--verify", verify_,
        "Also measure the placements, on links of a network lab on this machine; needs root");
    options.exclude("--verify", "--shared-processors");
    options.examples(
        "  infold plan --ranks 8 --link 10G --place host:100G\n"
        "  infold plan --ranks 8 --link 10G --place host:100G --threads 8\n"
        "  infold plan --processors measure --save-processors node.costs\n"
        "  infold plan --ranks 8 --link 100G --place switch --processors node.costs\n"
        "  infold plan --ranks 4 --link none --place switch --processors measure "
        "--shared-processors 2\n"
        "  infold plan --ranks 16 --link 25G --place host:100G --place host:100G --bytes 1GB\n"
        "  infold plan --ranks 4 --link 1G --place switch --format bfp16 --mtu 9000 --json\n"
        "  infold plan --verify --ranks 4 --link 100M --place host:100M --place switch --bytes "
        "4MB");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    predict::Question question;
    if (const std::string problem = processors_.problem(); !problem.empty()) {
      output.log("infold plan: {}\n", problem);
      return ExitCode::kBadUsage;
    }
    if (const auto problem = processors_.find_unwritable_file()) {
      output.log("infold plan: {}\n", *problem);
      return ExitCode::kFailed;
    }
    const auto format = encoding::choose_format({.type = named(kTypes, data_type_name, dtype_),
                                                 .wire = named(kWires, wire_format_name, wire_),
                                                 .world = workers_});
    if (!format) {
      output.log("infold plan: {}\n", format.error().message);
      return ExitCode::kBadUsage;
    }
    question.layout = format->layout;
    question.worker_rates.assign(workers_, link_);
    question.hosts = hosts_;
    question.switch_in_path = switch_;
    if (!site_typed_) {
      question.hosts = {{"host:" + rate_word(link_), link_}};
    }
    question.tensor_bytes = size_;
    question.framing = framing_;
    question.framing.frame_bytes =
        frame_bytes_.value_or(verify_ ? kShapedFrameBytes : predict::Framing().frame_bytes);
    question.rtt_s = rtt_us_ * 1e-6;
    question.host_threads = threads_;
    question.shared_processors = shared_processors_;

    const FormatNames names = {dtype_, core::format_name(format->layout.format)};
    if (verify_) return verify(output, question, names);
    const auto costs = processors_.costs(output, false);
    if (!costs) return refuse(output, costs.error());
    question.processors = *costs;
    if (!site_typed_) {
      output.text(
          "No --place: assuming a Linux host with one port that is as fast as a rank's link, and "
          "{} of the switch there.\n\n",
          threads_ == 1 ? "one thread" : fmt::format("{} threads", threads_));
    }
    print_question(output, question, names);
    const std::vector<predict::Placement> placements = predict::predict(question);
    print_placements(output, placements, {});
    print_advice(output, predict::advice(question, placements));
    return ExitCode::kDone;
  }

 private:
  static ExitCode refuse(Output& output, const std::string& reason) {
    output.log("infold plan: {}\n", reason);
    return ExitCode::kBadUsage;
  }

  // Measures on this machine, whose processors all parties of the lab share.
  ExitCode verify(Output& output, predict::Question question, const FormatNames& names) const {
    const measure::Places places = measure::Places::find();
    if (const auto refusal = refuse_to_measure(question, names, predict::predict(question),
                                               this_lab_machine(places))) {
      output.log("infold plan: --verify: {}\n", refusal->text);
      return refusal->bad_usage ? ExitCode::kBadUsage : ExitCode::kFailed;
    }
    const auto costs = processors_.costs(output, true);
    if (!costs) return refuse(output, costs.error());
    question.processors = *costs;
    question.shared_processors = measure::processor_count();
    const std::vector<predict::Placement> placements = predict::predict(question);
    const auto measured = measure_placements(
        question, names, placements, places,
        [&output](const predict::Placement& placement, unsigned iterations) {
          output.log("infold plan: measuring {}, {} sums of {}\n", placement.name, iterations,
                     predict::time_text(placement.time_s));
        });
    if (desk::InterruptGuard::interrupted()) {
      output.log("infold plan: stopped on request; the lab is gone\n");
      return ExitCode::kFailed;
    }
    print_question(output, question, names);
    print_placements(output, placements, measured);
    std::vector<std::string> sentences = predict::advice(question, placements);
    for (const std::string& each : measured_advice(placements, measured)) {
      sentences.push_back(each);
    }
    print_advice(output, sentences);
    const bool failed = std::any_of(measured.begin(), measured.end(),
                                    [](const auto& each) { return !each.error.empty(); });
    return failed ? ExitCode::kFailed : ExitCode::kDone;
  }

  bool add_site(const std::string& typed) {
    constexpr std::string_view kHost = "host:";
    site_typed_ = true;
    if (typed == "workers") return true;
    if (typed == "switch" || typed == "switches") {  // other commands say --place switches
      switch_ = true;
      return true;
    }
    if (!typed.starts_with(kHost) || hosts_.size() == core::Stripe::kSitesMax) return false;
    const std::string_view typed_rate = std::string_view(typed).substr(kHost.size());
    if (typed_rate == "none") {
      hosts_.push_back({typed, predict::kUnlimited});
      return true;
    }
    const auto rate = parse_rate(typed_rate);
    if (!rate || *rate < kRates.low || *rate > kRates.high) return false;
    // Each rate gets a single spelling, so that equal hosts are counted together.
    hosts_.push_back({std::string(kHost) + short_rate(*rate), *rate});
    return true;
  }

  std::uint32_t workers_ = 8;
  double link_ = 10e9;
  std::uint64_t size_ = 100'000'000;
  std::string dtype_ = "f32";
  std::string wire_ = "automatic";
  predict::Framing framing_;
  std::optional<std::uint32_t> frame_bytes_;
  bool verify_ = false;
  std::uint32_t threads_ = 1;
  ProcessorsOption processors_;
  std::uint32_t shared_processors_ = 0;
  double rtt_us_ = 50;
  std::vector<predict::Host> hosts_;
  bool switch_ = false;
  bool site_typed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<Plan>(); }

}  // namespace infold::cli
