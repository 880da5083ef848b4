// SPDX-License-Identifier: Apache-2.0
//
// p4/targets/v1model. A job has an entry of its own, which names its slots. Packets find their
// worker by it.
#include <algorithm>

#include "core/adder/adder.h"
#include "p4/targets/packet_registers.h"
#include "p4/targets/target.h"

namespace infold::p4 {
namespace {

constexpr std::uint32_t kSlots = 1024;

core::SiteRecord record() {
  core::SiteRecord record = core::adder_record(kElementsMax);
  record.verifies_checksums = true;  // over the elements that it parses
  return record;
}

class Bmv2Target final : public Target {
 public:
  explicit Bmv2Target(const Program& program) : program_(program) {}

  std::uint16_t name_of(const PipelineJob& job) const override { return job.index; }

  std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker) const override {
    return std::uint32_t{1} << job.options.workers[worker].first;
  }

  std::vector<v1::Update> job_entries(const PipelineJob& job,
                                      v1::Update::Type type) const override {
    const core::AggregatorOptions& options = job.options;
    const std::uint32_t elements = std::min(
        {options.elements_max, kElementsMax, options.datagram_bytes_max - INFOLD_HEADER_BYTES});
    std::uint32_t all = 0;
    for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
      all |= bits_of(job, worker);
    }
    return {program_.update(type, Table::jobs, {options.job},
                            {job.index, options.epoch, job.first_slot, options.slot_count, elements,
                             all, kFirstJobGroup + job.index, job.has_ended ? 1U : 0U})};
  }

  std::vector<v1::Update> sender_entries(const PipelineJob& job,
                                         v1::Update::Type type) const override {
    std::vector<v1::Update> updates;
    for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
      updates.push_back(sender_entry(job, worker, type));
    }
    return updates;
  }

  // The worker's own entry has its place.
  std::vector<v1::Update> place_entries(const PipelineJob& job, std::uint8_t worker,
                                        v1::Update::Type type) const override {
    if (type == v1::Update::DELETE) return {};
    return {sender_entry(job, worker, v1::Update::MODIFY)};
  }

  std::unique_ptr<Registers> make_registers() const override {
    return std::make_unique<PacketRegisters>(program_);
  }

 private:
  v1::Update sender_entry(const PipelineJob& job, std::uint8_t worker,
                          v1::Update::Type type) const {
    const core::RankRange ranks = job.options.workers[worker];
    const Place place = job.workers[worker].place.value_or(Place{});
    return program_.update(type, Table::senders, {job.index, worker},
                           {bits_of(job, worker), ipv4_of(job.workers[worker].source),
                            core::rank_digest(ranks.first), place.mac, place.udp_port, place.port});
  }

  const Program& program_;
};

}  // namespace

// Port 510 is the controller's, and 511 drops.
const TargetLimits& bmv2_limits() {
  static const TargetLimits kLimits = {.record = record(),
                                       .slots = kSlots,
                                       .slots_of_job = kSlots,
                                       .port_max = 509,
                                       .program_file = "infold.json"};
  return kLimits;
}

std::unique_ptr<Target> make_bmv2_target(const Program& program) {
  return std::make_unique<Bmv2Target>(program);
}

}  // namespace infold::p4
