// SPDX-License-Identifier: Apache-2.0
//
// infold emulate: plays the switch, the links and most ranks of a job for a few real ranks, until a
// signal stops it. It then reports whether it kept pace with the wall clock.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/emulate/lag_options.h"
#include "cli/emulate/shape_options.h"
#include "cli/line/quantity.h"
#include "cli/switch/switch_log.h"
#include "core/world.h"
#include "io/host/descriptors.h"
#include "join/service/join_server.h"
#include "study/desk/interrupt.h"
#include "study/emulate/at_switch/switch_emulator.h"
#include "study/emulate/emulator.h"
#include "study/measure/cost/processor_time.h"

namespace infold::cli {
namespace {

constexpr double kNoLimit = 0;
constexpr std::int64_t kFrameBytes = 1538;  // a full frame with MTU 1500
// Measured times are valid if at least 99 % of the packets are late by no more than this share of a
// round trip.
constexpr double kLateShare = 0.05;

double microseconds(base::Duration time) { return static_cast<double>(time.ns) / 1e3; }

class Emulate final : public Command {
 public:
  std::string_view name() const override { return "emulate"; }
  std::string_view summary() const override {
    return "Play the switch, the links and most ranks of a job for a few real ranks";
  }

  void declare(Options& options) override {
    options.address(
        "--listen", listen_, emulation_.listen,
        "Address where real ranks join, HOST:PORT; their packets go to the same port, and "
        "with several switches to the ports behind it");
    options.whole<std::uint32_t>("--ranks", emulation_.ranks, {2, core::kWorldMax},
                                 "Ranks of each job");
    options.whole<std::uint32_t>("--real", emulation_.real, {1, core::kWorldMax - 1},
                                 "Ranks that are real: the first ones, which join as at a switch");
    shape_.declare(options);
    options.rate_or_none("--link", rate_, {1e6, 400e9}, kNoLimit,
                         "Rate of each rank's link, in each direction; none for no limit");
    options.rate_or_none("--rack-link", rack_rate_, {1e6, 10e12}, kNoLimit,
                         "Rate of each rack's link to the root, in each direction");
    options.real(
        "--rtt-us", rtt_us_, {0, 1'000'000},
        "Microseconds over a link and back, without queues: from a rank to its switch, and "
        "from a rack's switch to the root");
    options.whole<std::uint32_t>("--overhead", overhead_, {0, 256},
                                 "Bytes that a link takes for a datagram beside its payload: 66 on "
                                 "Ethernet, 42 where Linux limits the rate (tc), as in a lab");
    options.real("--loss", emulation_.loss, {0, 0.3},
                 "Probability that a link loses a packet, in each direction");
    options.flag("--real-links", emulation_.real_have_links,
                 "Real ranks have links of their own, as in a lab or a cluster");
    options.whole<std::uint32_t>("--slots", emulation_.slots, {2, 32'000},
                                 "Slots of each switch: chunks of all jobs in flight at a time");
    options.choice("--values", values_, {"zeros", "generated"},
                   "What emulated ranks contribute; generated is what infold bench allreduce "
                   "contributes and --check expects");
    lag_.declare(options);
    options.whole<std::uint64_t>("--seed", emulation_.seed, {1, ~std::uint64_t{0} >> 1},
                                 "Seed of losses and lags");
    options.address(
        "--switch", switch_, emulation_.real_switch,
        "Address of a real infold switch, HOST:PORT, which sums in place of an emulated "
        "one; real ranks join at --listen all the same, and send to it themselves; with --place "
        "mixed, real and emulated ranks also sum");
    for (const char* const other :
         {"--racks", "--hosts", "--switches", "--plan", "--rack-link", "--slots", "--real-links"}) {
      options.exclude("--switch", other);
    }
    log_.declare(options);
    has_overhead_ = options.is_given("--overhead");
    has_seed_ = options.is_given("--seed");
    options.examples(
        "  infold emulate --ranks 64 --real 2 --link 100M --rtt-us 200\n"
        "  infold bench allreduce --switch 127.0.0.1:7700 --rank 0 --ranks 64\n"
        "  infold emulate --ranks 8 --real 2 --link 1G --lag-at 5=20000\n"
        "  infold emulate --ranks 64 --real 1 --values generated --link 100M\n"
        "  infold emulate --ranks 8 --real 2 --link 1G --lag-of run\n"
        "  infold emulate --ranks 64 --real 2 --racks 8 --link 1G --rack-link 10G\n"
        "  infold emulate --ranks 16 --real 2 --place workers --link 1G\n"
        "  infold emulate --ranks 64 --real 2 --plan job.plan\n"
        "  infold emulate --ranks 64 --real 2 --switch 10.0.0.1:7700\n"
        "  infold emulate --ranks 16 --real 2 --switch 10.0.0.1:7700 --place mixed");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    io::raise_descriptor_limit(join::kDescriptorsWanted);
    log_.apply();
    if (emulation_.real >= emulation_.ranks) {
      output.log(
          "infold emulate: --real {}: must be below --ranks {}; a job of real ranks alone "
          "needs infold switch\n",
          emulation_.real, emulation_.ranks);
      return ExitCode::kBadUsage;
    }
    auto shape = shape_.shape(emulation_.ranks, emulation_.real);
    if (!shape) {
      output.log("infold emulate: {}\n", shape.error());
      return ExitCode::kBadUsage;
    }
    if (!switch_.empty() && shape->weights.empty()) {
      output.log(
          "infold emulate: --place workers: no switch is asked then, and --switch names one; "
          "choose --place mixed\n");
      return ExitCode::kBadUsage;
    }
    if (rack_rate_ > 0 && shape->racks.empty()) {
      output.log("infold emulate: --rack-link needs racks; add --racks, or a plan that has some\n");
      return ExitCode::kBadUsage;
    }
    if (const std::string ignored = find_ignored(); !ignored.empty()) {
      output.log("infold emulate: {}\n", ignored);
      return ExitCode::kBadUsage;
    }
    emulation_.shape = std::move(*shape);
    auto lag = lag_.lag(emulation_.ranks, emulation_.real);
    if (!lag) {
      output.log("infold emulate: {}\n", lag.error());
      return ExitCode::kBadUsage;
    }
    emulation_.lag = std::move(*lag);
    complete();
    const double processor_begun = measure::process_s();
    const emulate::Started<std::unique_ptr<emulate::Emulation>> emulator = start();
    if (!emulator) {
      const emulate::StartError& why = emulator.error();
      const char* const option = std::string_view(why.where) == "switch" ? "--switch" : "--listen";
      output.log("infold emulate: {} {}: {}\n", option, why.address.text(), why.detail);
      return ExitCode::kFailed;
    }
    announce(output, **emulator);
    while (!guard.wait_for(kLogTick)) log_quiet_moment();
    output.log("infold emulate: stopped on request\n");
    const emulate::EmulationReport report = (*emulator)->report();
    return conclude(output, report, measure::process_s() - processor_begun);
  }

 private:
  // Returns an error if an option has no effect beside the others, else an empty text.
  std::string find_ignored() const {
    const bool has_rate = rate_ > 0 || rack_rate_ > 0;
    if (has_overhead_() && !has_rate) {
      return "--overhead: links without a rate take no time for bytes; add --link";
    }
    if (has_seed_() && emulation_.loss == 0 && !lag_.is_random()) {
      return "--seed: nothing is random here; add --loss or --lag-us";
    }
    if (emulation_.real_have_links && !has_rate && rtt_us_ == 0 && emulation_.loss == 0) {
      return "--real-links: no link is emulated; add --link, --rtt-us or --loss";
    }
    return "";
  }

  emulate::Started<std::unique_ptr<emulate::Emulation>> start() const {
    if (emulation_.real_switch.is_set()) return emulate::SwitchEmulator::start(emulation_);
    return emulate::Emulator::start(emulation_);
  }

  sim::LinkOptions link_of(double rate) const {
    sim::LinkOptions link;
    link.bits_per_second = static_cast<std::int64_t>(rate);
    link.delay.ns = static_cast<std::int64_t>(rtt_us_ * 1e3 / 2);
    link.overhead_bytes = overhead_;
    link.queue_bytes_max = sim::port_queue_bytes(rate);
    return link;
  }

  void complete() {
    emulation_.link = link_of(rate_);
    emulation_.rack_link = link_of(rack_rate_);
    emulation_.values =
        values_ == "generated" ? emulate::Values::generated : emulate::Values::zeros;
  }

  // The round trip of a full frame over an emulated link.
  double round_trip_us() const {
    const double frame_us = rate_ > 0 ? static_cast<double>(kFrameBytes) * 8 / rate_ * 1e6 : 0;
    return rtt_us_ + 2 * frame_us;
  }

  void announce(Output& output, const emulate::Emulation& emulator) const {
    const std::string address = emulator.address().text();
    output.text("infold emulate: {} of {} ranks are real and join at {}\n", emulation_.real,
                emulation_.ranks, address);
    output.text(
        "links: {}, {} us to the switch and back, loss {}{}\n",
        rate_ > 0 ? short_rate(rate_) + "bit/s" : "no limit of rate", rtt_us_, emulation_.loss,
        emulation_.real_have_links || !switch_.empty() ? "; those of real ranks are their own"
                                                       : "");
    const emulate::JobShape& shape = emulation_.shape;
    const std::string places = shape_text(shape, emulation_.real);
    if (!places.empty()) output.text("{}\n", places);
    if (!switch_.empty()) output.text("a real switch sums, at {}\n", switch_);
    output.object({{"event", "listening"},
                   {"listen", address},
                   {"ranks", emulation_.ranks},
                   {"real", emulation_.real},
                   {"racks", shape.racks.size()},
                   {"hosts", shape.hosts.size()},
                   {"switches", shape.weights.size()},
                   {"ranks_sum", shape.ranks_sum},
                   {"switch", switch_},
                   {"rate", rate_},
                   {"rtt_us", rtt_us_},
                   {"loss", emulation_.loss},
                   {"values", values_}});
  }

  ExitCode conclude(Output& output, const emulate::EmulationReport& report,
                    double processor_s) const {
    const emulate::JobCounters& counters = report.counters;
    const double median = microseconds(report.lateness.quantile(0.5));
    const double p99 = microseconds(report.lateness.quantile(0.99));
    const double most = microseconds(report.lateness.most());
    const double allowed = kLateShare * round_trip_us();
    const bool has_pace = round_trip_us() > 0 && report.lateness.count() > 0;
    const bool kept_pace = !has_pace || p99 <= allowed;
    const std::uint64_t packets =
        counters.packets_in + counters.packets_out + counters.packets_emulated;
    const double packet_us = packets > 0 ? processor_s * 1e6 / static_cast<double>(packets) : 0;
    output.text(
        "{} transfers; {} packets from {}, {} to them, {} emulated; {:.2f} us of processor time a "
        "packet\n",
        counters.transfers, counters.packets_in,
        switch_.empty()              ? "real ranks"
        : emulation_.shape.ranks_sum ? "the switch and real ranks"
                                     : "the switch",
        counters.packets_out, counters.packets_emulated, packet_us);
    if (has_pace) {
      output.text(
          "packets left late by {:.1f} us in the median, {:.1f} us in 99 of 100, {:.1f} us "
          "at most\n",
          median, p99, most);
    }
    output.object({{"event", "ended"},
                   {"transfers", counters.transfers},
                   {"packets_in", counters.packets_in},
                   {"packets_out", counters.packets_out},
                   {"packets_emulated", counters.packets_emulated},
                   {"packets_refused", counters.packets_refused},
                   {"late_us_median", median},
                   {"late_us_p99", p99},
                   {"late_us_max", most},
                   {"late_us_allowed", allowed},
                   {"kept_pace", kept_pace},
                   {"processor_s", processor_s},
                   {"packet_us", packet_us}});
    if (kept_pace) return ExitCode::kDone;
    output.log(
        "infold emulate: it did not keep pace: one packet of a hundred was late by {:.1f} us "
        "or more, and {:.1f} us are allowed. Sums are right; times do not count. Emulate "
        "fewer ranks, slower links or a longer round trip (--rtt-us)\n",
        p99, allowed);
    return ExitCode::kFailed;
  }

  emulate::EmulationOptions emulation_{.ranks = 8};
  std::string listen_ = "127.0.0.1:7700";
  ShapeOptions shape_;
  std::string switch_;
  double rate_ = kNoLimit;
  double rack_rate_ = kNoLimit;
  double rtt_us_ = 0;
  std::uint32_t overhead_ = sim::kFrameOverheadBytes;
  LagOptions lag_;
  std::string values_ = "zeros";
  LogOptions log_;
  std::function<bool()> has_overhead_;
  std::function<bool()> has_seed_;
};

}  // namespace

std::unique_ptr<Command> make_emulate_command() { return std::make_unique<Emulate>(); }

}  // namespace infold::cli
