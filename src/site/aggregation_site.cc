// SPDX-License-Identifier: Apache-2.0
//
// A packet's header names its job and its worker. The job's aggregator says where the answer goes.
#include "site/aggregation_site.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "io/host/log.h"

namespace infold::site {
namespace {

constexpr std::size_t kJobNumbers = 1 << 16;

// Whether a worker's packet has passed all checks of R-007, so that answers now go to its source
// address.
bool was_accepted(core::Verdict verdict) {
  return verdict <= core::Verdict::answered_ended ||
         verdict == core::Verdict::dropped_stale_round ||
         verdict == core::Verdict::dropped_early_round || verdict == core::Verdict::dropped_repeat;
}

void add_verdicts(const core::VerdictCounters& verdicts, PacketCounts& sum) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) sum[i] += verdicts[i];
}

}  // namespace

AggregationSite::Job::Job(const core::AggregatorOptions& options, std::uint16_t small,
                          const Neighbours& neighbours)
    : aggregator(options),
      small_slots(small),
      addresses(options.workers.size()),
      parent({neighbours.parent}),
      workers(options.workers),
      sources(neighbours.workers) {
  CHECK(options.parent_worker.has_value() == neighbours.parent.is_set());
  sources.resize(workers.size());
}

// Whether answers to the worker already go to that address.
bool AggregationSite::Job::is_known(std::uint8_t worker, const io::SocketAddress& from) const {
  return worker < addresses.size() && addresses[place_of(worker)] == from;
}

// Whether the worker's packets may come from that address. The worker in this process sends
// nothing through a socket.
bool AggregationSite::Job::may_come(std::uint8_t worker, const io::SocketAddress& from) const {
  if (worker >= sources.size()) return true;  // the aggregator refuses the worker number
  if (worker == own) return false;
  return !sources[worker].is_set() || sources[worker].is_same_host(from);
}

std::size_t AggregationSite::Job::place_of(std::uint8_t worker) const {
  const std::size_t last = addresses.size() - 1;
  if (!own) return worker;
  if (worker == *own) return last;
  return worker == last ? *own : worker;
}

AggregationSite::AggregationSite(io::UdpSocket socket)
    : socket_(std::move(socket)), address_(socket_.local_address()), jobs_(kJobNumbers) {}

void AggregationSite::swap_job(std::uint16_t number, std::unique_ptr<Job>& job) {
  jobs_[number].swap(job);
  if (job) add_verdicts(job->aggregator.counters(), past_);
  std::erase(numbers_, number);
  if (jobs_[number]) numbers_.push_back(number);
}

void AggregationSite::end_job(std::uint16_t number, const core::Abort& abort) {
  if (!jobs_[number]) return;
  jobs_[number]->aggregator.end(abort);
  send(*jobs_[number]);
  socket_.flush();
}

std::optional<core::Abort> AggregationSite::end_of(std::uint16_t number) const {
  return jobs_[number] ? jobs_[number]->aggregator.aborted() : std::nullopt;
}

void AggregationSite::end_all_jobs(const core::Abort& abort) {
  for (std::size_t number = 0; number < jobs_.size(); ++number) {
    end_job(static_cast<std::uint16_t>(number), abort);
  }
}

SiteStatistics AggregationSite::statistics() const {
  SiteStatistics statistics;
  statistics.socket = socket_.counters();
  statistics.packets = past_;
  statistics.packets[count_index(core::Verdict::dropped_malformed)] += statistics.socket.misfits;
  for (const std::uint16_t number : numbers_) {
    const core::Aggregator& aggregator = jobs_[number]->aggregator;
    statistics.jobs.push_back({number, aggregator.counters(), aggregator.memory_bytes()});
    add_verdicts(aggregator.counters(), statistics.packets);
  }
  return statistics;
}

std::size_t AggregationSite::serve() {
  const std::span<const io::UdpSocket::Arrival> batch = socket_.receive();
  for (const io::UdpSocket::Arrival& arrival : batch) handle(arrival.datagram, arrival.from);
  socket_.flush();
  return batch.size();
}

void AggregationSite::adopt(std::uint16_t number, std::uint8_t worker) {
  CHECK(jobs_[number] != nullptr);
  Job& job = *jobs_[number];
  CHECK_THAT(worker, <, job.addresses.size());
  CHECK(!job.own);
  socket_.flush();  // trains in the socket refer to these addresses
  std::swap(job.addresses[worker], job.addresses.back());
  job.known -= job.addresses.back().is_set() ? 1 : 0;
  job.addresses.back() = {};
  job.own = worker;
  for (Answers* const answers : {&answers_, &taken_}) answers->places.reserve(kAnswersMax);
  taken_spans_.reserve(kAnswersMax);
}

void AggregationSite::handle_own(std::span<const std::byte> datagram) { handle(datagram, nullptr); }

std::span<const std::span<const std::byte>> AggregationSite::take_answers() {
  std::swap(answers_, taken_);
  answers_.bytes.clear();
  answers_.places.clear();
  taken_spans_.clear();
  for (const auto& [first, bytes] : taken_.places) {
    taken_spans_.push_back(std::span(taken_.bytes).subspan(first, bytes));
  }
  return taken_spans_;
}

// `from` is null if the datagram comes from the worker in this process.
void AggregationSite::handle(std::span<const std::byte> datagram, const io::SocketAddress* from) {
  if (from != nullptr && io::is_probe(datagram)) {
    ++past_[count_index(PlaneVerdict::answered_probe)];
    echo_.send(socket_, *from, datagram);
    return;
  }
  core::Packet packet;
  if (core::parse_at_aggregator(datagram, packet) != core::Malformed::none) {
    count_malformed(datagram);
    return;
  }
  const core::Header& header = packet.header;
  Job* const job = jobs_[header.job].get();
  if (job == nullptr) {
    ++past_[count_index(core::Verdict::dropped_foreign_job)];
    return;
  }
  last_was_small_ = header.slot < job->small_slots;
  // The header names the worker, because a worker may be at any address, even at the parent's.
  core::Source source;
  bool is_new = false;
  if (from == nullptr) {
    source = {core::Source::Side::below, job->own};
  } else if (core::travels_down(header.kind)) {
    if (!(*from == job->parent[0])) source.side = core::Source::Side::below;
  } else {
    is_new = !job->is_known(header.worker, *from);
    source.is_elsewhere = is_new && !job->may_come(header.worker, *from);
  }
  const core::Verdict verdict = job->aggregator.handle(packet, source);
  if (is_new && was_accepted(verdict)) learn(*job, header.worker, *from);
  if (verdict == core::Verdict::dropped_wrong_source) warn_of(*job, header, *from);
  send(*job);
}

void AggregationSite::count_malformed(std::span<const std::byte> datagram) {
  const std::optional<std::uint16_t> number = core::named_job(datagram);
  Job* const job = number ? jobs_[*number].get() : nullptr;
  if (job != nullptr) {
    job->aggregator.count_malformed();
  } else {
    ++past_[count_index(core::Verdict::dropped_malformed)];
  }
}

// Logs the first such packet, the second, the fourth, the eighth and so on, so that a flood makes
// few lines.
void AggregationSite::warn_of(const Job& job, const core::Header& header,
                              const io::SocketAddress& from) {
  const std::uint64_t count =
      job.aggregator.counters()[count_index(core::Verdict::dropped_wrong_source)];
  if (!std::has_single_bit(count)) return;
  io::log(status::LogLevel::warn, "wrong_source",
          {{"number", header.job},
           {"rank", job.workers[header.worker].first},
           {"address", from.text()},
           {"expected",
            header.worker == job.own ? "this process" : job.sources[header.worker].host_text()},
           {"dropped", count}});
}

void AggregationSite::learn(Job& job, std::uint8_t worker, const io::SocketAddress& from) {
  if (worker >= job.addresses.size() || worker == job.own) return;
  io::SocketAddress& address = job.addresses[job.place_of(worker)];
  socket_.flush();  // trains in the socket refer to these addresses
  job.known += address.is_set() ? 0 : 1;
  address = from;
}

void AggregationSite::send(Job& job) {
  while (const auto transmit = job.aggregator.poll_transmit()) {
    if (transmit->to == core::Aggregator::To::parent) {
      socket_.send(job.parent, transmit->datagram);
    } else if (transmit->to == core::Aggregator::To::all_workers) {
      send_to_all(job, *transmit);
    } else if (transmit->worker == job.own) {
      answer_own(transmit->datagram);
    } else {
      send_to(job, job.place_of(transmit->worker), transmit->datagram);
    }
  }
}

void AggregationSite::send_to(const Job& job, std::size_t place,
                              std::span<const std::byte> datagram) {
  if (job.addresses[place].is_set()) {
    socket_.send(std::span(job.addresses).subspan(place, 1), datagram);
  }
}

void AggregationSite::send_to_all(const Job& job, const core::Aggregator::Transmit& transmit) {
  const std::size_t remotes = job.remote_count();
  if (job.own) answer_own(transmit.datagram_for(*job.own));
  std::size_t first = 0;
  if (transmit.brief_for && transmit.brief_for != job.own) {
    const std::size_t brief = job.place_of(*transmit.brief_for);
    send_to_places(job, 0, brief, transmit.datagram);
    send_to(job, brief, transmit.datagram_for(*transmit.brief_for));
    first = brief + 1;
  }
  send_to_places(job, first, remotes, transmit.datagram);
}

void AggregationSite::send_to_places(const Job& job, std::size_t first, std::size_t end,
                                     std::span<const std::byte> datagram) {
  if (first < end && job.known == job.remote_count()) {
    socket_.send(std::span(job.addresses).subspan(first, end - first), datagram);
    return;
  }
  for (std::size_t place = first; place < end; ++place) send_to(job, place, datagram);
}

void AggregationSite::answer_own(std::span<const std::byte> datagram) {
  if (answers_.places.size() == kAnswersMax) return;
  answers_.places.emplace_back(answers_.bytes.size(), datagram.size());
  answers_.bytes.insert(answers_.bytes.end(), datagram.begin(), datagram.end());
}

}  // namespace infold::site
