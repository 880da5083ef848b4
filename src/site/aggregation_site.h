// SPDX-License-Identifier: Apache-2.0
//
// A socket and the aggregators behind it, of any number of jobs. A worker's packets come from one
// host. Its answers go to the port that its last valid packet came from, so that it may sit
// behind a NAT and needs no open port. One worker may be in this process: what goes between it and
// its aggregator takes no socket.
//
// Has no thread and no lock: whoever owns it calls serve() when something has arrived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/udp/udp_socket.h"
#include "site/neighbours.h"
#include "site/serve_loop.h"
#include "site/switch_status.h"

namespace infold::site {

struct SiteStatistics {
  PacketCounts packets{};  // of all jobs there have been
  io::UdpCounters socket;
  std::vector<JobPackets> jobs;  // of those there are
};

class AggregationSite final : public PacketServer {
 public:
  explicit AggregationSite(io::UdpSocket socket);

  // What a job's slots may take is set aside here, and taken when packets first use it. Slots below
  // `small_slots` are for small tensors, whose ranks wait for every answer. What the aggregator
  // sends up goes to the parent, and what comes down comes from there.
  class Job {
   public:
    Job(const core::AggregatorOptions& options, std::uint16_t small_slots,
        const Neighbours& neighbours = {});

   private:
    friend class AggregationSite;
    // The worker in this process comes last, where it has no address.
    std::size_t place_of(std::uint8_t worker) const;
    std::size_t remote_count() const { return addresses.size() - (own ? 1 : 0); }
    bool is_known(std::uint8_t worker, const io::SocketAddress& from) const;
    bool may_come(std::uint8_t worker, const io::SocketAddress& from) const;

    core::Aggregator aggregator;
    std::uint16_t small_slots;
    std::vector<io::SocketAddress> addresses;  // unset until a worker has been heard of
    std::size_t known = 0;
    std::optional<std::uint8_t> own;
    std::array<io::SocketAddress, 1> parent;
    std::vector<core::RankRange> workers;
    std::vector<io::SocketAddress> sources;  // by worker; unset: anywhere
  };

  bool has_job(std::uint16_t number) const { return jobs_[number] != nullptr; }
  // Puts it in the place of the one that has the number, and hands that one out; null: none.
  void swap_job(std::uint16_t number, std::unique_ptr<Job>& job);
  // Tells the job's workers. Its aggregator stays, to repeat the answer, until it is removed.
  void end_job(std::uint16_t number, const core::Abort& abort);
  void end_all_jobs(const core::Abort& abort);
  SiteStatistics statistics() const;

  std::size_t serve() override;
  bool last_was_small() const override { return last_was_small_; }
  void wait(base::Instant deadline) override { socket_.wait(deadline); }
  void wake() override { socket_.wake(); }

  // From now on that worker of that job is in this process, and nowhere else.
  void adopt(std::uint16_t job, std::uint8_t worker);
  // From that worker. What goes to others stays until serve() or flush().
  void handle_own(std::span<const std::byte> datagram);
  bool has_answers() const { return !answers_.places.empty(); }
  // To that worker; valid until the next call.
  std::span<const std::span<const std::byte>> take_answers();

  void flush() { socket_.flush(); }
  int descriptor() const { return socket_.descriptor(); }
  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return socket_.sends_trains() && socket_.receives_trains(); }

 private:
  // As many as a queue of the kernel's holds; more are dropped, as there.
  static constexpr std::size_t kAnswersMax = 2048;

  // Datagrams behind each other, and which is which.
  struct Answers {
    std::vector<std::byte> bytes;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // where each begins, and its length
  };

  void handle(std::span<const std::byte> datagram, const io::SocketAddress* from);
  void count_malformed(std::span<const std::byte> datagram);
  void echo(std::span<const std::byte> probe, const io::SocketAddress& to);
  void learn(Job& job, std::uint8_t worker, const io::SocketAddress& from);
  static void warn_of(const Job& job, const core::Header& header, const io::SocketAddress& from);
  void send(Job& job);
  void send_to(const Job& job, std::size_t place, std::span<const std::byte> datagram);
  void send_to_all(const Job& job, std::span<const std::byte> datagram);
  void answer_own(std::span<const std::byte> datagram);

  io::UdpSocket socket_;
  io::SocketAddress address_;
  std::vector<std::unique_ptr<Job>> jobs_;  // by number
  std::vector<std::uint16_t> numbers_;      // of those there are
  PacketCounts past_{};                     // of jobs that have been removed, and of none
  bool last_was_small_ = false;
  std::array<io::SocketAddress, 1> echo_to_;
  std::vector<std::byte> echo_;

  Answers answers_;
  Answers taken_;
  std::vector<std::span<const std::byte>> taken_spans_;
};

}  // namespace infold::site
