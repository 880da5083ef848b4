// SPDX-License-Identifier: Apache-2.0
#include "study/measure/cost/processor_costs.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "io/address/listen.h"
#include "io/address/tcp_connection.h"
#include "study/desk/child.h"
#include "study/desk/interrupt.h"
#include "study/measure/cost/ring_cost.h"
#include "study/measure/cost/spread.h"
#include "study/measure/host/cores.h"
#include "study/predict/link_bytes.h"

namespace infold::measure {
namespace {

using Clock = std::chrono::steady_clock;

// The number of ranks beside a switch.
constexpr unsigned kRanks = 4;
// The numbers of ranks in jobs without a switch. Two ranks may have a processor each, and four may
// have to share.
constexpr unsigned kSummingRanks[] = {2, 4};
// More than the caches of most processors hold, like a model's gradients.
constexpr std::uint64_t kBytes = 16 << 20;
// The number of sums in each of three samples, whose median counts.
constexpr unsigned kSums = 4;
constexpr unsigned kWarmUps = 1;
constexpr std::size_t kSamples = 3;
constexpr std::uint32_t kMtu = 1500;
// Only a hang takes as long.
constexpr std::chrono::seconds kLimit{60};
constexpr std::chrono::milliseconds kPause{2};

struct Wire {
  const char* name;
  core::WireFormat format;
};
constexpr Wire kWires[] = {{"native", core::WireFormat::native},
                           {"bfp16", core::WireFormat::bfp16},
                           {"bfp8", core::WireFormat::bfp8}};

struct Chunks {
  double count = 0;
  double elements = 0;  // in each chunk
};

Chunks chunks_of(core::WireFormat format) {
  predict::Framing framing;
  framing.mtu = kMtu;
  const std::uint64_t elements = kBytes / sizeof(float);
  const auto passage = predict::passage_of({format, core::DataType::f32}, elements, framing);
  const auto count = static_cast<double>(passage.chunks);
  return {count, static_cast<double>(elements) / count};
}

// Call it before any other reason is given: a terminal's Ctrl-C ends the measured processes as
// well.
void stop_if_asked() {
  if (desk::InterruptGuard::interrupted()) throw std::runtime_error("stopped on request");
}

// Returns the processor time that another process has used so far.
double processor_s(int pid) {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    stop_if_asked();
    throw std::runtime_error("a switch ended before its processor time was read");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A process and its output, which is one JSON object per line.
class Program {
 public:
  Program(const desk::ScratchFolder& folder, const std::string& name, const desk::Words& words)
      : name_(name),
        out_(folder.path() / (name + ".out")),
        log_(folder.path() / (name + ".log")),
        child_(words, out_, log_) {}

  int pid() const { return child_.pid(); }

  // Waits for the line with this number, counted from 0.
  nlohmann::json line(std::size_t number) {
    const Clock::time_point limit = Clock::now() + kLimit;
    for (;;) {
      const bool has_ended = child_.poll().has_value();
      const std::string text = desk::read_file(out_);
      std::size_t start = 0;
      std::size_t end = text.find('\n');
      for (std::size_t i = 0; i < number && end != std::string::npos; ++i) {
        start = end + 1;
        end = text.find('\n', start);
      }
      if (end != std::string::npos) return nlohmann::json::parse(text.substr(start, end - start));
      stop_if_asked();
      if (has_ended) throw std::runtime_error(fmt::format("{} failed: {}", name_, last_words()));
      if (Clock::now() > limit) {
        throw std::runtime_error(fmt::format("{} is silent after {} s", name_, kLimit.count()));
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  void end_well() {
    const Clock::time_point limit = Clock::now() + kLimit;
    while (!child_.poll() && Clock::now() < limit) {
      stop_if_asked();
      std::this_thread::sleep_for(kPause);
    }
    stop_if_asked();
    if (child_.poll() != 0) throw std::runtime_error(fmt::format("{}: {}", name_, last_words()));
  }

 private:
  std::string last_words() const { return desk::trimmed(desk::read_file(log_)); }

  std::string name_;
  std::filesystem::path out_;
  std::filesystem::path log_;
  desk::Child child_;
};

// The processor time for one tensor.
struct SumTimes {
  double rank_s = 0;    // at one rank
  double switch_s = 0;  // at the switch
};

// Returns a loopback address whose port no socket uses at the moment.
std::string free_place() {
  const auto listener =
      io::listen_at(*io::SocketAddress::parse_number("127.0.0.1:0", "measurement"), "measurement");
  if (!listener) throw std::runtime_error("no free port on loopback");
  return io::local_address_of(listener->get()).text();
}

class Sums {
 public:
  explicit Sums(const std::filesystem::path& infold) : infold_(infold) {}

  SumTimes on_switch(const Wire& wire) {
    if (!switch_) {
      switch_.emplace(folder_, "switch",
                      desk::Words{infold_, "switch", "--listen", "127.0.0.1:0", "--json",
                                  "--log-level", "warn"});
    }
    return run(wire, kRanks, {"--switch", switch_->line(0).at("join"), "--place", "switches"});
  }

  SumTimes on_workers(const Wire& wire, unsigned ranks) {
    return run(wire, ranks, {"--rendezvous", free_place(), "--place", "workers"});
  }

 private:
  // A first, small tensor warms up. The switch is idle between the line about one tensor and the
  // start of the next.
  SumTimes run(const Wire& wire, unsigned ranks, const desk::Words& where) {
    std::vector<Program> programs;
    programs.reserve(ranks);
    for (unsigned rank = 0; rank < ranks; ++rank) {
      programs.emplace_back(folder_, fmt::format("rank-{}-{}", jobs_, rank),
                            rank_words(wire, ranks, rank, where));
    }
    ++jobs_;
    std::vector<double> rank_s;
    std::vector<double> switch_s;
    programs[0].line(0);
    double before = switch_ ? processor_s(switch_->pid()) : 0;
    for (std::size_t i = 1; i <= kSamples; ++i) {
      const nlohmann::json result = programs[0].line(i);
      const double now = switch_ ? processor_s(switch_->pid()) : 0;
      rank_s.push_back(result.at("cpu_s_per_gb").get<double>() * kBytes * 1e-9);
      switch_s.push_back((now - before) / (kSums + kWarmUps));
      before = now;
    }
    for (Program& each : programs) each.end_well();
    return {spread_of(rank_s).median, spread_of(switch_s).median};
  }

  desk::Words rank_words(const Wire& wire, unsigned ranks, unsigned rank,
                         const desk::Words& where) const {
    const std::vector<std::uint64_t> sizes = {kBytes / 8, kBytes, kBytes, kBytes};
    desk::Words words = {infold_, "bench", "allreduce"};
    words.insert(words.end(), where.begin(), where.end());
    const desk::Words rest = {"--job",
                              fmt::format("measure-{}", jobs_),
                              "--rank",
                              fmt::format("{}", rank),
                              "--ranks",
                              fmt::format("{}", ranks),
                              "--bytes",
                              fmt::format("{}", fmt::join(sizes, ",")),
                              "--iterations",
                              fmt::format("{}", kSums),
                              "--warmup-iterations",
                              fmt::format("{}", kWarmUps),
                              "--format",
                              wire.name,
                              "--mtu",
                              fmt::format("{}", kMtu),
                              "--shared-memory",
                              "off",
                              "--deadline",
                              fmt::format("{}", kLimit.count()),
                              "--json"};
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }

  desk::ScratchFolder folder_{"infold-processors"};
  std::filesystem::path infold_;
  unsigned jobs_ = 0;
  std::optional<Program> switch_;
};

}  // namespace

std::uint32_t processor_count() { return static_cast<std::uint32_t>(own_cores().size()); }

predict::Processors measure_processors(const std::filesystem::path& infold,
                                       const std::function<void(std::string_view step)>& begin) {
  Sums sums(infold);
  std::vector<predict::ChunkTime> rank;
  std::vector<predict::ChunkTime> site;
  std::vector<predict::ChunkTime> own;
  for (const Wire& wire : kWires) {
    const Chunks chunks = chunks_of(wire.format);
    begin(fmt::format("{} on a switch, {} ranks", wire.name, kRanks));
    const SumTimes beside = sums.on_switch(wire);
    const double rank_s = beside.rank_s / chunks.count;
    const double site_s = beside.switch_s / (chunks.count * kRanks);
    std::vector<predict::SummingRank> times;
    for (const unsigned ranks : kSummingRanks) {
      begin(fmt::format("{} on {} ranks, without a switch", wire.name, ranks));
      times.push_back({ranks, sums.on_workers(wire, ranks).rank_s / chunks.count});
    }
    rank.push_back({chunks.elements, rank_s});
    site.push_back({chunks.elements, site_s});
    own.push_back({chunks.elements, predict::fit_own_s(times, rank_s + site_s)});
  }
  begin("a ring over TCP");
  const double ring_s = ring_byte_s();
  stop_if_asked();
  return {.rank = predict::fit_cost(rank),
          .site = predict::fit_cost(site),
          .own = predict::fit_cost(own),
          .ring_byte_s = ring_s};
}

}  // namespace infold::measure
