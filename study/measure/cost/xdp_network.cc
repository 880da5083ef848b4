// SPDX-License-Identifier: Apache-2.0
//
// Everything runs on one thread and one processor. The kernel runs the packet programs during the
// thread's sends, so the thread's time includes all of the work.
#include "study/measure/cost/xdp_network.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "io/host/file_descriptor.h"
#include "io/udp/udp_socket.h"
#include "planes/xdp/attach/attachment.h"
#include "planes/xdp/program/program.h"
#include "study/measure/compare/lab.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"

namespace infold::measure {
namespace {

using Clock = std::chrono::steady_clock;

// The number of packets that a rank sends at once, as for large tensors.
constexpr std::uint16_t kTrain = 32;
constexpr std::uint16_t kPort = 7700;
constexpr std::chrono::seconds kLimit{20};
// If more than this share of packets is lost, the figures are meaningless.
constexpr double kLossMax = 0.001;
// The time to wait for answers that another thread of the kernel still processes.
constexpr std::chrono::milliseconds kStragglers{500};

[[noreturn]] void give_up(const std::string& why) { throw std::runtime_error(why); }

io::SocketAddress address(const std::string& host, std::uint16_t port) {
  const auto parsed = io::SocketAddress::parse(fmt::format("{}:{}", host, port), "bench");
  CHECK(parsed.has_value());
  return *parsed;
}

// While a Visit lives, its thread is in another network namespace.
class Visit {
 public:
  explicit Visit(const std::filesystem::path& space)
      : home_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    const io::FileDescriptor there(open(space.c_str(), O_RDONLY | O_CLOEXEC));
    if (setns(there.get(), CLONE_NEWNET) != 0) give_up("cannot enter " + space.string());
  }
  ~Visit() { CHECK(setns(home_.get(), CLONE_NEWNET) == 0); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  io::FileDescriptor home_;
};

// A rank's socket on its host, and its contributions to a train of chunks.
class Rank {
 public:
  Rank(const Lab& lab, std::uint16_t number) : number_(number) {
    const Visit visit(lab.space(std::to_string(number)));
    io::UdpOptions options;
    options.bind = address(host_address(number), 9000);
    auto socket = io::UdpSocket::open(options);
    if (!socket) give_up(fmt::format("rank {}: {}", number, socket.error().detail));
    socket_.emplace(std::move(*socket));
  }

  void contribute(core::ElementLayout layout) {
    datagram_ = make_bench_contribution(layout, number_);
  }

  void send(const io::SocketAddress& to, std::uint32_t round) {
    auto* const header = reinterpret_cast<infold_header*>(datagram_.data());
    header->round = infold_to_be32(round);
    for (std::uint16_t slot = 0; slot < kTrain; ++slot) {
      header->slot = infold_to_be16(slot);
      socket_->send({&to, 1}, datagram_);
    }
    socket_->flush();
  }

  std::size_t receive() {
    std::size_t count = 0;
    for (std::size_t more = 1; more != 0; count += more) more = socket_->receive().size();
    return count;
  }

 private:
  std::uint16_t number_;
  std::optional<io::UdpSocket> socket_;
  std::vector<std::byte> datagram_;
};

// A program to measure at the switch's ports, and the packets that ranks send to it.
struct Subject {
  std::string name;
  core::ElementLayout layout;
  int program = -1;
  double answers = 1;  // for each packet
  std::vector<double> ns = {};
};

class Bench {
 public:
  Bench(const XdpNetworkOptions& options, std::span<const BenchWire> wires)
      : options_(options), lab_(Places::find()) {
    LabLinks links;
    links.hosts = options.world;
    lab_.up(links);
    for (std::uint16_t rank = 0; rank < options.world; ++rank) {
      set(std::to_string(rank), "eth0", {"tx", "off", "gro", "on"});
      set(kSwitchNode, fmt::format("port{}", rank), {"tso", "off"});
      ranks_.emplace_back(lab_, rank);
    }
    load();
    const core::ElementLayout plain = wires.front().layout;
    subjects_.push_back({"drop", plain, program_->discard_program(), 0});
    subjects_.push_back({"bounce", plain, program_->bounce_program(), 1});
    for (const BenchWire& wire : wires) {
      subjects_.push_back({wire.name, wire.layout, program_->packets_program(), 1});
    }
  }

  void run(const std::function<void(const XdpNetworkCost&)>& report) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (std::uint32_t sample = 0; sample < options_.samples; ++sample) {
      for (Subject& subject : subjects_) subject.ns.push_back(measure(subject));
    }
    const std::vector<double>& bounced = subjects_[1].ns;
    for (const Subject& subject : subjects_) report(cost_of(subject, bounced));
  }

 private:
  void set(const std::string& node, const std::string& device, const desk::Words& words) {
    desk::Words all = {"ethtool", "-K", device};
    all.insert(all.end(), words.begin(), words.end());
    const desk::Finished done = desk::run_to_end(lab_.at(node, all), lab_.scratch(), kLimit);
    if (done.status != 0) give_up("ethtool: " + desk::trimmed(done.text));
  }

  void load() {
    xdp::ProgramOptions options;
    options.addresses = {switch_};
    options.slots_max = kTrain;
    options.grows = options.bounces = false;
    options.can_bounce = true;
    auto program = xdp::Program::load(options);
    if (!program) give_up(program.error().detail);
    program_.emplace(std::move(*program));
  }

  void start_job() {
    const plan::Plan plan = bench_plan(options_.world, kTrain);
    CHECK(program_->add_job(plan::aggregator_options(plan, 0, 0), {}, true).has_value());
  }

  std::vector<xdp::Attachment> attach(int program) {
    const Visit visit(lab_.space(kSwitchNode));
    std::vector<xdp::Attachment> attached;
    for (std::uint16_t rank = 0; rank < options_.world; ++rank) {
      const auto interface = xdp::find_interface(fmt::format("port{}", rank));
      if (!interface) give_up(interface.error());
      xdp::AttachOptions options;
      options.packets_program = program;
      options.ingress_program = program_->ingress_program();
      auto attachment = xdp::Attachment::attach(*interface, options);
      if (!attachment) give_up(attachment.error());
      attached.push_back(std::move(*attachment));
    }
    return attached;
  }

  // Returns nanoseconds per packet. The first rounds resolve addresses.
  double measure(Subject& subject) {
    start_job();
    for (Rank& rank : ranks_) rank.contribute(subject.layout);
    const std::vector<xdp::Attachment> attached = attach(subject.program);
    const std::uint32_t warm_up = options_.rounds / 10 + 2;
    std::uint32_t round = 1;
    std::size_t answers = 0;
    for (; round <= warm_up; ++round) answers += run_round(round);
    const double start = thread_s();
    for (; round <= warm_up + options_.rounds; ++round) answers += run_round(round);
    const double spent = (thread_s() - start) * 1e9;

    const double per_round = double{kTrain} * options_.world;
    const double wanted = subject.answers * per_round * (round - 1);
    const Clock::time_point end = Clock::now() + kStragglers;
    while (static_cast<double>(answers) < wanted && Clock::now() < end) answers += receive();
    if (static_cast<double>(answers) < wanted * (1 - kLossMax)) {
      give_up(fmt::format("{}: {} answers, not {:.0f}", subject.name, answers, wanted));
    }
    return spent / (per_round * options_.rounds);
  }

  std::size_t run_round(std::uint32_t round) {
    for (Rank& rank : ranks_) rank.send(switch_, round);
    return receive();
  }

  std::size_t receive() {
    std::size_t count = 0;
    for (Rank& rank : ranks_) count += rank.receive();
    return count;
  }

  static XdpNetworkCost cost_of(const Subject& subject, const std::vector<double>& bounced) {
    XdpNetworkCost cost;
    cost.program = subject.name;
    const Spread spread = spread_of(subject.ns);
    cost.ns_median = spread.median;
    cost.ns_mad = spread.mad;
    cost.packets_per_second = 1e9 / spread.median;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < subject.ns.size(); ++i) {
      ratios.push_back(bounced[i] / subject.ns[i]);
    }
    cost.of_bounce = spread_of(ratios).median;
    return cost;
  }

  XdpNetworkOptions options_;
  Lab lab_;
  io::SocketAddress switch_ = address(kSwitchHost, kPort);
  std::vector<Rank> ranks_;
  std::optional<xdp::Program> program_;
  std::vector<Subject> subjects_;
};

}  // namespace

void measure_xdp_network(const XdpNetworkOptions& options, std::span<const BenchWire> wires,
                         const std::function<void(const XdpNetworkCost&)>& report) {
  Bench(options, wires).run(report);
}

}  // namespace infold::measure
