// SPDX-License-Identifier: Apache-2.0
//
// p4/targets/tna. A packet is looked up once, with all that it must say. So a job has no entry of
// its own, but three for each worker, and is marked as ended in all of them.
#include "core/adder/adder.h"
#include "p4/targets/register_entries.h"
#include "p4/targets/target.h"

namespace infold::p4 {
namespace {

// As p4/targets/tna/headers.p4 has it: the place of a slot is the job's place and the slot's
// number.
constexpr std::uint32_t kSlotsOfJob = 256;
constexpr std::uint32_t kAll = ~0U;

core::SiteRecord record() {
  core::SiteRecord record = core::adder_record(kElementsMax);
  record.formats = {core::WireFormat::i32};
  record.reductions = {core::Reduction::sum, core::Reduction::average, core::Reduction::max};
  record.is_big_endian = true;
  record.verifies_checksums = true;
  return record;
}

class TofinoTarget final : public Target {
 public:
  explicit TofinoTarget(const Program& program) : program_(program) {}

  std::uint16_t name_of(const PipelineJob& job) const override { return job.options.job; }

  // The last worker has all bits beyond its own, too, so that all together are all bits.
  std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker) const override {
    const std::uint32_t bit = std::uint32_t{1} << worker;
    return worker + std::size_t{1} == job.workers.size() ? ~(bit - 1) : bit;
  }

  std::vector<v1::Update> job_entries(const PipelineJob& job,
                                      v1::Update::Type type) const override {
    std::vector<v1::Update> updates;
    for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
      const std::uint32_t bits = bits_of(job, worker);
      const std::uint32_t digest = core::rank_digest(job.options.workers[worker].first);
      updates.push_back(entry(job, worker, core::Kind::add, {1, 1, digest}, bits, type));
      updates.push_back(entry(job, worker, core::Kind::skip, {}, bits, type));
      updates.push_back(entry(job, worker, core::Kind::query, {}, 0, type));
    }
    return updates;
  }

  std::vector<v1::Update> sender_entries(const PipelineJob& /*job*/,
                                         v1::Update::Type /*type*/) const override {
    return {};
  }

  std::vector<v1::Update> place_entries(const PipelineJob& job, std::uint8_t worker,
                                        v1::Update::Type type) const override {
    const std::optional<Place>& place = job.workers[worker].place;
    if (!place) return {};
    return {program_.update(type, Table::places,
                            {job.options.job, worker, place->mac, place->udp_port, place->port})};
  }

  std::unique_ptr<Registers> make_registers() const override {
    return std::make_unique<RegisterEntries>(program_);
  }

 private:
  // `bits`: those that the packet adds to its slot. A job that has ended adds none.
  v1::Update entry(const PipelineJob& job, std::uint8_t worker, core::Kind kind,
                   core::Contributors contributors, std::uint32_t bits,
                   v1::Update::Type type) const {
    std::uint32_t all = 0;
    for (std::size_t each = 0; each < job.workers.size(); ++each) all |= std::uint32_t{1} << each;
    const core::AggregatorOptions& options = job.options;
    return program_.update(
        type, Table::senders,
        {options.job, options.epoch, worker, static_cast<std::uint64_t>(kind), contributors.count,
         contributors.weight, contributors.digest, ipv4_of(job.workers[worker].source)},
        {job.first_slot / kSlotsOfJob, job.has_ended ? kAll : ~bits, all,
         kFirstJobGroup + job.index, job.has_ended ? 1U : 0U});
  }

  const Program& program_;
};

}  // namespace

// With one rank, all bits are seen before and after its packet, and the program sees no change.
// Packets that pass once more come in at port 68, in the first pipe. Other pipes have registers of
// their own.
const TargetLimits& tofino_limits() {
  static const TargetLimits kLimits = {.record = record(),
                                       .ranks_min = 2,
                                       .slots = kJobsMax * kSlotsOfJob,
                                       .slots_of_job = kSlotsOfJob,
                                       .slots_step = kSlotsOfJob,
                                       .port_max = 67,
                                       .program_file = "infold.bin"};
  return kLimits;
}

std::unique_ptr<Target> make_tofino_target(const Program& program) {
  return std::make_unique<TofinoTarget>(program);
}

}  // namespace infold::p4
