// SPDX-License-Identifier: Apache-2.0
#include "emulate/emulator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "io/udp/path_probe.h"

namespace infold::emulate {
namespace {

// Jumbo frames, as a switch takes them.
constexpr std::uint32_t kDatagramBytesMax = 8972;
// A thread that sleeps is woken late by its timer's slack and by the time that waking takes. So the
// thread does not sleep before an event that is this near.
constexpr base::Duration kAwake = base::microseconds(150);

}  // namespace

// The jobs, and the socket that their real ranks share. The loop's thread uses all of it.
class Emulator::Server final : public site::PacketServer {
 public:
  explicit Server(io::UdpSocket socket) : socket_(std::move(socket)) {}

  void add(const EmulationOptions& options, const control::JobTerms& terms) {
    auto job = std::make_unique<Job>();
    job->sources = terms.rank_sources;
    job->sources.resize(terms.world);
    job->addresses.resize(terms.world);
    job->network = std::make_unique<EmulatedJob>(
        options, terms,
        [this, at = job.get()](std::uint16_t rank, std::span<const std::byte> bytes) {
          if (at->addresses[rank][0].is_set()) socket_.send(at->addresses[rank], bytes);
        });
    jobs_[terms.job] = std::move(job);
  }
  EmulatedJob* find(std::uint16_t number) {
    const auto job = jobs_.find(number);
    return job == jobs_.end() ? nullptr : job->second->network.get();
  }
  void remove(std::uint16_t number) {
    const auto job = jobs_.find(number);
    if (job == jobs_.end()) return;
    socket_.flush();
    add_to(past_, *job->second->network);
    jobs_.erase(job);
  }
  EmulationReport report() const {
    EmulationReport report = past_;
    for (const auto& [number, job] : jobs_) add_to(report, *job->network);
    return report;
  }
  void flush() { socket_.flush(); }

  std::size_t serve() override {
    const std::span<const io::UdpSocket::Arrival> batch = socket_.receive();
    const base::Instant now = io::monotonic_now();
    for (const auto& [number, job] : jobs_) job->network->run(now);
    for (const io::UdpSocket::Arrival& arrival : batch) take(now, *arrival.from, arrival.datagram);
    socket_.flush();
    return batch.size();
  }
  bool last_was_small() const override { return false; }
  void wait(base::Instant deadline) override {
    for (const auto& [number, job] : jobs_) {
      deadline = std::min(deadline, job->network->next_event());
    }
    if (deadline != base::Instant::never() && deadline - io::monotonic_now() < kAwake) {
      std::this_thread::yield();
    } else {
      socket_.wait({deadline.ns - kAwake.ns});
    }
  }
  void wake() override { socket_.wake(); }

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Job {
    std::unique_ptr<EmulatedJob> network;
    std::vector<io::SocketAddress> sources;  // by rank; unset: any host
    std::vector<Address> addresses;          // of real ranks, from their packets
  };

  // A rank is known by the host that its connection vouches for, and by its number.
  void take(base::Instant now, const io::SocketAddress& from, std::span<const std::byte> datagram) {
    if (io::is_probe(datagram)) {
      echo_.send(socket_, from, datagram);
      return;
    }
    core::Packet packet;
    if (core::parse(datagram, packet) != core::Malformed::none) return;
    const core::Header& header = packet.header;
    const auto found = jobs_.find(header.job);
    if (found == jobs_.end() || core::travels_down(header.kind)) return;
    Job& job = *found->second;
    const std::uint16_t rank = header.worker;  // one site and no groups: numbers are ranks
    if (!job.network->is_real(rank)) return;
    const io::SocketAddress& source = job.sources[rank];
    if (source.is_set() && !source.is_same_host(from)) return;
    if (!(job.addresses[rank][0] == from)) {
      socket_.flush();  // trains refer to the addresses that they are for
      job.addresses[rank][0] = from;
    }
    job.network->take(now, rank, datagram);
  }

  static void add_to(EmulationReport& report, const EmulatedJob& job) {
    report.counters += job.counters();
    report.lateness += job.lateness();
  }

  io::UdpSocket socket_;
  std::map<std::uint16_t, std::unique_ptr<Job>> jobs_;
  EmulationReport past_;  // of removed jobs
  io::ProbeEcho echo_;
};

base::Result<std::unique_ptr<Emulator>> Emulator::start(const EmulationOptions& options) {
  io::UdpOptions udp;
  udp.bind = options.listen;
  udp.datagram_bytes_max = kDatagramBytesMax;
  udp.receive_buffer_bytes = udp.send_buffer_bytes = 16 << 20;
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<Emulator> emulator(new Emulator(options, std::move(*socket)));
  io::SocketAddress control = options.listen;
  control.set_port(emulator->address_.port());
  auto server = control::ControlServer::start(control, *emulator->ranks_);
  if (!server) return tl::unexpected(server.error());
  emulator->control_ = std::move(*server);
  return emulator;
}

Emulator::Emulator(const EmulationOptions& options, io::UdpSocket socket)
    : options_(options),
      address_(socket.local_address()),
      server_(std::make_unique<Server>(std::move(socket))),
      loop_(std::make_unique<site::ServeLoop>("emulator", *server_)),
      ranks_(std::make_unique<EmulatedRanks>(*this, options.ranks, options.real)) {}

// Jobs are told over both planes before anything goes away.
Emulator::~Emulator() {
  control_.reset();
  ranks_.reset();
  loop_->stop();
}

EmulationReport Emulator::report() {
  EmulationReport report;
  loop_->run([&] { report = server_->report(); });
  return report;
}

std::vector<control::SiteAddress> Emulator::sites() const {
  core::SiteRecord record;
  return {{address_.is_any() ? ":" + std::to_string(address_.port()) : address_.text_elsewhere(), 0,
           false, record}};
}

std::uint32_t Emulator::datagram_bytes_max() const { return kDatagramBytesMax; }

control::Answer<void> Emulator::start_job(const control::JobTerms& terms) {
  std::optional<control::Refusal> refusal;
  loop_->run([&] {
    try {
      server_->add(options_, terms);
    } catch (const std::bad_alloc&) {
      refusal = {control::RefusalReason::full,
                 "the emulator has no memory for the job; start it with fewer ranks or slots", -1};
    }
  });
  if (refusal) return tl::unexpected(*refusal);
  return {};
}

void Emulator::end_job(std::uint16_t job, const core::Abort& abort) {
  loop_->run([&] {
    EmulatedJob* const network = server_->find(job);
    if (network != nullptr) network->end(io::monotonic_now(), abort);
    server_->flush();
  });
}

void Emulator::forget_job(std::uint16_t job) {
  loop_->run([&] { server_->remove(job); });
}

// What emulated ranks cannot make ends the job, as if the first of them had left it.
void Emulator::note_call(std::uint16_t job, const control::CallNote& note) {
  loop_->post([this, job, note] {
    EmulatedJob* const network = server_->find(job);
    if (network == nullptr) return;
    const base::Instant now = io::monotonic_now();
    if (const base::Result<void> noted = network->note(now, note); !noted) {
      io::log(status::LogLevel::error, "not_emulated",
              {{"number", job}, {"reason", noted.error().detail}});
      const auto rank = static_cast<std::uint16_t>(options_.real);
      network->end(now, {core::AbortReason::cancelled, rank, rank, {}, {}});
    }
    server_->flush();
  });
}

}  // namespace infold::emulate
