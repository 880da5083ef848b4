// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/job_entries.h"

#include <arpa/inet.h>

#include "core/packet/packet.h"

namespace infold::p4 {
namespace {

constexpr std::uint32_t kAll = ~0U;

// `bits` are the bits that the packet adds to its slot. A job that has ended adds none.
v1::Update sender_entry(const Program& program, const PipelineJob& job, std::uint8_t worker,
                        core::Kind kind, core::Contributors contributors, std::uint32_t bits,
                        v1::Update::Type type) {
  std::uint32_t all = 0;
  for (std::size_t each = 0; each < job.workers.size(); ++each) all |= std::uint32_t{1} << each;
  const core::AggregatorOptions& options = job.options;
  return program.update(
      type, Table::senders,
      {options.job, options.epoch, worker, static_cast<std::uint64_t>(kind), contributors.count,
       contributors.weight, contributors.digest, ipv4_of(job.workers[worker].source)},
      {job.index, job.has_ended ? kAll : ~bits, all, kFirstJobGroup + job.index,
       job.has_ended ? 1U : 0U});
}

}  // namespace

// The last worker also has all bits beyond its own, so that all workers together have all bits.
std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker) {
  const std::uint32_t bit = std::uint32_t{1} << worker;
  return worker + std::size_t{1} == job.workers.size() ? ~(bit - 1) : bit;
}

std::vector<v1::Update> job_entries(const Program& program, const PipelineJob& job,
                                    v1::Update::Type type) {
  std::vector<v1::Update> updates;
  const auto add = [&](std::uint8_t worker, core::Kind kind, core::Contributors contributors,
                       std::uint32_t bits) {
    updates.push_back(sender_entry(program, job, worker, kind, contributors, bits, type));
  };
  const auto workers = static_cast<std::uint8_t>(job.workers.size());
  for (std::uint8_t worker = 0; worker < workers; ++worker) {
    const std::uint32_t bits = bits_of(job, worker);
    add(worker, core::Kind::add, {1, 1, core::rank_digest(job.options.workers[worker].first)},
        bits);
    add(worker, core::Kind::skip, {}, bits);
    add(worker, core::Kind::query, {}, 0);
  }
  return updates;
}

std::vector<v1::Update> worker_entries(const Program& program, const PipelineJob& job,
                                       std::uint8_t worker, v1::Update::Type type) {
  const PipelineWorker& known = job.workers[worker];
  if (!known.place) return {};
  const Place& place = *known.place;
  const std::uint16_t number = job.options.job;
  return {
      program.update(type, Table::places, {number, worker, place.mac, place.udp_port, place.port}),
      program.update(type, Table::workers, {number, worker},
                     {place.mac, ipv4_of(known.source), place.udp_port})};
}

std::uint32_t ipv4_of(const io::SocketAddress& address) {
  // The memory is aligned as the address family's own structure requires.
  return ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
}

}  // namespace infold::p4
