// SPDX-License-Identifier: Apache-2.0
//
// Tests the controller of a P4 pipeline with a fake device that stores what it gets. Workers are
// sockets.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "planes/p4/fake_device_testing.h"
#include "planes/p4/pipeline_switch.h"

namespace infold::p4 {

inline constexpr std::uint32_t kHost = 0x7F000001;
inline constexpr std::uint32_t kWorkers = 0x7F000002;  // ranks are on another host
inline constexpr base::Duration kLook = base::milliseconds(1);
inline constexpr base::Duration kLong = base::seconds(20);

inline io::SocketAddress address(const char* text) {
  return *io::SocketAddress::parse(text, "test");
}

inline join::JobTerms terms_of(std::uint16_t number, std::uint16_t slots = 4,
                               std::uint32_t world = 2) {
  join::JobTerms terms;
  terms.job = number;
  terms.epoch = 1000U + number;
  terms.world = world;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = kElementsMax;
  terms.small_slots = 1;
  terms.bulk_slots = static_cast<std::uint16_t>(slots - 1);
  terms.rank_sources.assign(world, address("127.0.0.2:0"));
  return terms;
}

class PipelineSwitchFixture : public ::testing::Test {
 protected:
  explicit PipelineSwitchFixture(TargetKind target) : kind_(target), device_(target) {}

  void SetUp() override {
    base::Attempt<std::unique_ptr<PipelineSwitch>> started = start();
    ASSERT_TRUE(started.has_value()) << started.error();
    switch_ = std::move(*started);
    for (auto& worker : workers_) {
      io::UdpOptions options;
      options.bind = address("127.0.0.2:0");
      worker.emplace(std::move(*io::UdpSocket::open(options)));
    }
  }

  base::Attempt<std::unique_ptr<PipelineSwitch>> start(std::uint32_t slots = 16) {
    PipelineSwitchOptions options;
    options.listen = address("127.0.0.1:0");
    options.join_address = address("127.0.0.1:0");  // the TCP port of the same number may be in use
    options.device.address = device_.address();
    options.ports = {1, 2, 3};
    options.slots = slots;
    options.find_mac = [this](const io::SocketAddress&) -> std::optional<std::uint64_t> {
      const std::uint64_t mac = mac_of_ranks_;
      return mac == 0 ? std::nullopt : std::optional(mac);
    };
    return PipelineSwitch::start(options, *Program::of(kind_, test_program(kind_)));
  }

  io::SocketAddress host() { return address(switch_->sites().front().address.c_str()); }

  // Reports a packet from each of the job's workers.
  void learn_workers(std::uint16_t number) {
    for (std::uint8_t worker = 0; worker < workers_.size(); ++worker) {
      device_.tell(WorkerNote{number, worker, 0x020000000001ULL + worker,
                              workers_[worker]->local_address().port(), 1U + worker});
    }
    ASSERT_TRUE(device_.wait_for_acknowledgements());
  }

  // What the tables contain about the jobs.
  struct InTables {
    std::uint32_t first_slot = 0;
    bool has_ended = false;
  };
  std::map<std::uint16_t, InTables> jobs() const {
    std::map<std::uint16_t, InTables> found;
    for (const auto& [keys, parameters] : device_.entries(Table::senders)) {
      const auto number = static_cast<std::uint16_t>(keys[0]);
      const InTables job = {static_cast<std::uint32_t>(parameters[0]) * kSlotsOfJob,
                            parameters.back() == 1};
      const auto [known, is_first] = found.emplace(number, job);
      EXPECT_EQ(known->second.has_ended, job.has_ended) << "entries of a job that differ";
      const bool adds = !job.has_ended && keys[3] != static_cast<std::uint64_t>(core::Kind::query);
      EXPECT_EQ(parameters[1] != 0xFFFFFFFF, adds) << "sums, or does not";
    }
    return found;
  }
  bool has_ended(std::uint16_t number) const { return jobs()[number].has_ended; }

  // A slot's set of contributors.
  static std::uint32_t seen_of(const std::vector<std::uint8_t>& workers, std::uint32_t world) {
    std::uint32_t seen = 0;
    for (const std::uint8_t worker : workers) {
      seen |= worker + 1U == world ? ~0U << worker : 1U << worker;
    }
    return seen;
  }

  core::Header header_of(std::uint16_t job, core::Kind kind, std::uint8_t worker) {
    core::Header header;
    header.kind = kind;
    header.job = job;
    header.epoch = 1000U + job;
    header.worker = worker;
    return header;
  }

  // A contribution of one element of 32 bits.
  core::Header add_of(std::uint16_t job, std::uint8_t worker, std::uint16_t elements = 1) {
    core::Header header = header_of(job, core::Kind::add, worker);
    header.round = 1;
    header.signature.elements = elements;
    header.signature.set_layout({core::WireFormat::i32, core::DataType::i32});
    header.contributors = {1, 1, core::rank_digest(worker)};
    return header;
  }

  void send(std::uint8_t worker, const core::Header& header, std::span<const std::byte> body) {
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + body.size());
    core::write_header(header, datagram);
    std::copy(body.begin(), body.end(), datagram.begin() + INFOLD_HEADER_BYTES);
    send(worker, datagram);
  }
  void send(std::uint8_t worker, std::span<const std::byte> datagram) {
    const std::array<io::SocketAddress, 1> to = {host()};
    workers_[worker]->send(to, datagram);
    workers_[worker]->flush();
  }
  void send_add(std::uint8_t worker, const core::Header& header) {
    send(worker, header, std::vector<std::byte>(header.signature.elements * std::size_t{4}));
  }
  void send_abort(std::uint16_t job, std::uint8_t worker, core::AbortReason reason) {
    std::array<std::byte, sizeof(infold_abort)> body;
    core::write_abort({reason, worker, worker, {}, {}}, body.data());
    send(worker, header_of(job, core::Kind::abort, worker), body);
  }

  template <typename Condition>
  bool watch_until(Condition condition) {
    const base::Instant deadline = io::monotonic_now() + kLong;
    while (io::monotonic_now() < deadline) {
      if (condition()) return true;
      switch_->watch(kLook);
    }
    return false;
  }
  // Handles the host's packets until this many have been counted with this verdict.
  bool serve_until(core::Verdict verdict, std::uint64_t packets = 1) {
    return watch_until(
        [&] { return switch_->metrics().packets_of(core::verdict_name(verdict)) >= packets; });
  }

  // The end that this worker is told, or nothing.
  std::optional<core::Abort> heard_by(std::uint8_t worker, base::Duration patience) {
    workers_[worker]->wait(io::monotonic_now() + patience);
    for (const io::UdpSocket::Arrival& arrival : workers_[worker]->receive()) {
      core::Packet packet;
      if (core::parse(arrival.datagram, packet) != core::Malformed::none) continue;
      if (packet.header.kind == core::Kind::aborted) return core::read_abort(packet.body);
    }
    return std::nullopt;
  }

  const TargetKind kind_;
  std::atomic<std::uint64_t> mac_of_ranks_ = 0;  // as this host knows it; 0: not at all
  FakeDevice device_;
  std::array<std::optional<io::UdpSocket>, 2> workers_;
  std::unique_ptr<PipelineSwitch> switch_;  // ends before its device
};

// The program on each target.
class PipelineSwitchTest : public PipelineSwitchFixture,
                           public ::testing::WithParamInterface<TargetKind> {
 protected:
  PipelineSwitchTest() : PipelineSwitchFixture(GetParam()) {}
};
class Bmv2SwitchTest : public PipelineSwitchFixture {
 protected:
  Bmv2SwitchTest() : PipelineSwitchFixture(TargetKind::bmv2) {}
};
class TofinoSwitchTest : public PipelineSwitchFixture {
 protected:
  TofinoSwitchTest() : PipelineSwitchFixture(TargetKind::tofino) {}
};

}  // namespace infold::p4
