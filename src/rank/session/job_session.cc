// SPDX-License-Identifier: Apache-2.0
//
// Joining, step by step: the route decides address and MTU, the control planes the rest.
#include "rank/session/job_session.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/check.h"
#include "base/prng.h"
#include "control/job_plan.h"
#include "control/registry/job_registry.h"
#include "core/site_order.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "io/udp/udp_endpoint.h"
#include "rank/session/summing_endpoint.h"
#include "site/neighbours.h"
#include "switch/switch_server.h"

namespace infold::rank {
namespace {

constexpr std::uint32_t kSmallSlots = 64;
constexpr std::uint32_t kBulkSlots = 448;
// Of a deadline: what is longer has no end that anybody could wait for.
constexpr std::chrono::nanoseconds kDeadlineMax = std::chrono::hours(24 * 365);

Error unavailable(std::string message, int rank = -1) {
  return {Code::unavailable, "join: " + std::move(message), rank, ""};
}

Error error_of(const control::Refusal& refusal) {
  Code code = Code::unavailable;
  switch (refusal.reason) {
    case control::RefusalReason::invalid: code = Code::invalid_argument; break;
    case control::RefusalReason::mismatch: code = Code::mismatch; break;
    case control::RefusalReason::full: code = Code::resource_exhausted; break;
    case control::RefusalReason::too_late: code = Code::deadline_exceeded; break;
    case control::RefusalReason::given_up: code = Code::cancelled; break;
    case control::RefusalReason::in_use:
    case control::RefusalReason::broken:
    case control::RefusalReason::stopping: break;
  }
  return {code, "join: " + refusal.message, refusal.rank, ""};
}

// Of most elements, as far as the format is chosen for all calls.
std::uint32_t element_bytes_of(WireFormat wire) {
  if (wire == WireFormat::bfp8) return 1;
  return wire == WireFormat::bfp16 ? 2 : 4;
}

control::RefusalReason reason_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return control::RefusalReason::invalid;
    case Code::mismatch: return control::RefusalReason::mismatch;
    case Code::resource_exhausted: return control::RefusalReason::full;
    case Code::deadline_exceeded: return control::RefusalReason::too_late;
    default: return control::RefusalReason::stopping;
  }
}

// What a host has found out counts for more than that somebody has gone since, which may be heard
// first; least counts that this rank itself stopped waiting.
int weight_of(control::RefusalReason reason) {
  switch (reason) {
    case control::RefusalReason::given_up: return 0;
    case control::RefusalReason::too_late:
    case control::RefusalReason::stopping: return 1;
    default: return 2;
  }
}

std::chrono::steady_clock::time_point time_point(base::Instant at) {
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds(at.ns)};
}

}  // namespace

Result<std::unique_ptr<JobSession>> JobSession::join(const JoinOptions& options,
                                                     const CallHistory& history, Setup& setup) {
  std::unique_ptr<JobSession> session(new JobSession(options, history));
  Result<void> done = session->run(setup);
  if (done) return session;
  session->give_up(done.error());
  return tl::unexpected(std::move(done.error()));
}

JobSession::JobSession(const JoinOptions& options, const CallHistory& history)
    : options_(options),
      history_(history),
      deadline_(io::monotonic_now() +
                base::Duration{std::min(options.deadline, kDeadlineMax).count()}) {}

// The others hear at each host why this rank does not join. What one host has said to all of its
// ranks goes on as it is.
void JobSession::give_up(const Error& error) {
  if (error.code == Code::cancelled) return;
  control::Refusal why = {reason_of(error.code), "", options_.rank};
  if (why_) {
    why = *why_;
  } else {
    constexpr std::string_view kPrefix = "join: ";
    const std::size_t start = error.message.starts_with(kPrefix) ? kPrefix.size() : 0;
    why.message = "rank " + std::to_string(options_.rank) + ": " + error.message.substr(start);
  }
  for (Link& each : links_) each.link->give_up(why);
}

void JobSession::note_answered() {
  const std::lock_guard lock(answers_mutex_);
  if (--unanswered_ == 0) met_.request_stop();
  answered_.notify_all();
}

// That a rank has gone may have a reason which the other hosts are about to tell. They are given a
// moment for it.
void JobSession::stop_joining(const control::Refusal& refusal) {
  std::unique_lock lock(answers_mutex_);
  if (weight_of(refusal.reason) < 2) {
    answered_.wait_for(lock, joining_.get_token(), kReasonMax, [this] { return unanswered_ == 0; });
  }
  lock.unlock();
  joining_.request_stop();
}

void JobSession::keep_reason(const control::Refusal& refusal) {
  if (!why_ || weight_of(refusal.reason) > weight_of(why_->reason)) why_ = refusal;
}

JobSession::~JobSession() {
  for (Link& each : links_) each.link->leave(end_);
  server_.reset();
}

// Who leaves in good order is missed by nobody, and a lost switch is looked for again.
void JobSession::note_end(const core::Abort& abort) {
  using core::AbortReason;
  if (abort.reason != AbortReason::left && abort.reason != AbortReason::stopped) end_ = abort;
}

Result<void> JobSession::run(Setup& setup) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  if (Result<void> found = find_hosts(); !found) return found;
  if (Result<void> opened = open_sockets(); !opened) return opened;
  const bool may_share = options_.shared_memory != SharedMemory::off && options_.world > 1;
  if (may_share) share_ = HostShare::open(options_.host);
  if (options_.sites == Sites::workers) {
    if (options_.rank == 0) {
      registrar_ = std::make_unique<control::JobRegistry>(nullptr);
      auto server = control::ControlServer::start(hosts_.front(), *registrar_);
      if (!server) {
        return tl::unexpected(unavailable("rank 0 cannot listen at " + options_.rendezvous + ": " +
                                          server.error().detail));
      }
      server_ = std::move(*server);
      hosts_.front() = server_->address();
      options_.rendezvous = server_->address().text();
      if (options_.on_rendezvous) options_.on_rendezvous(options_.rendezvous);
    }
  }
  if (Result<void> met = meet_all(); !met) return met;
  return set_up(setup);
}

control::Hello JobSession::hello() const {
  control::Hello hello;
  hello.job = options_.job;
  hello.rank = static_cast<std::uint32_t>(options_.rank);
  hello.world = static_cast<std::uint32_t>(options_.world);
  hello.datagram_bytes_max = datagram_bytes_max_;
  hello.small_slots = kSmallSlots;
  hello.bulk_slots = kBulkSlots;
  hello.patience = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline);
  hello.source = socket_->local_address();
  if (share_) hello.host = share_->rank_host();
  hello.element_bytes = element_bytes_of(options_.wire);
  hello.always_shares = options_.shared_memory == SharedMemory::always;
  if (shard_) {
    hello.site = control::SiteAddress{shard_->address().text_elsewhere(),
                                      static_cast<std::uint32_t>(options_.worker_weight), true};
  }
  return hello;
}

// Where all ranks have come, one of them may give up while others are still awaited elsewhere.
JobSession::Joined JobSession::meet(const std::string& name, const control::Hello& own,
                                    const control::JobLink::Limits& limits) {
  Joined link = or_stop(control::JobLink::join(name, own, limits));
  if (!link) return link;
  const control::Answer<void> stays = (*link)->stay(met_.get_token());
  if (stays) return link;
  stop_joining(stays.error());
  return tl::unexpected(stays.error());
}

// All at once: each answers when all ranks have come to it, and ranks may name them in other
// orders.
Result<void> JobSession::meet_all() {
  std::vector<std::future<Joined>> meetings;
  control::Hello own = hello();
  control::JobLink::Limits limits;
  limits.joins_by = time_point(deadline_);
  const std::chrono::nanoseconds left{(deadline_ - io::monotonic_now()).ns};
  limits.connects_by = std::chrono::steady_clock::now() + std::min(options_.connect_deadline, left);
  limits.stop = joining_.get_token();
  limits.is_at_rank = options_.sites == Sites::workers;
  const std::vector<std::string> names = host_names();
  unanswered_ = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    limits.at = hosts_[i];
    meetings.push_back(std::async(std::launch::async, [this, own, limits, &name = names[i]] {
      return meet(name, own, limits);
    }));
    own.site.reset();  // the first link alone carries the ranks' own sites
  }
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    Joined link = meetings[i].get();
    if (link) {
      links_.push_back({std::move(*link), 0});
    } else {
      keep_reason(link.error());
    }
  }
  if (why_) return tl::unexpected(error_of(*why_));
  return {};
}

// What the hosts have said, for pure functions.
std::vector<HostTerms> JobSession::host_terms() const {
  std::vector<HostTerms> hosts;
  for (const Link& each : links_) hosts.push_back({&each.link->terms(), each.link->host()});
  return hosts;
}

Result<void> JobSession::find_sites() {
  SiteTableInput input = {options_, datagram_bytes_max_, kSmallSlots, kBulkSlots, {}};
  if (shard_) input.own_site = shard_->address();
  Result<SiteTable> table = rank::find_sites(input, host_terms());
  if (!table) return tl::unexpected(std::move(table.error()));
  table_ = std::move(*table);
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i].first_site = table_.first_sites[i];
  return {};
}

core::WorkerOptions JobSession::worker_options() const {
  core::WorkerOptions worker = plan::worker_options(table_.plan, table_.rank);
  worker.seed = base::mix64(static_cast<std::uint64_t>(io::monotonic_now().ns) + worker.rank);
  worker.wall_clock_offset = io::wall_clock_offset();
  return worker;
}

// All are here: the terms become a plan, and an endpoint that reaches every site.
Result<void> JobSession::set_up(Setup& setup) {
  if (Result<void> found = find_sites(); !found) return found;
  setup.site_names = table_.names;
  // Slots take memory, which a job in one host's does not need.
  if (shard_ && !is_one_host()) serve_site();
  if (Result<void> carried = probe_sites(table_.plan.datagram_bytes_max); !carried) return carried;
  const control::ReadyReport report = {meet_host(), core::site_order(worker_options().sites),
                                       options_.verify, history_.finished, history_.digest};
  if (Result<void> ready = all_ready(report); !ready) return ready;

  const std::vector<control::HostGroup>& groups = terms().groups;
  const control::HostGroup* const group = control::group_of(groups, table_.rank);
  if (is_one_host()) {
    table_.plan = one_host_plan();
    shard_.reset();
  } else {
    settle(host_terms(), table_);
    if (shard_) serve_site();
  }
  setup.worker = worker_options();
  const bool leads = group != nullptr && group->ranks.first == table_.rank;
  if (group == nullptr) {
    share_.reset();
    setup.endpoint = shard_
                         ? summing_endpoint()
                         : std::make_unique<io::UdpEndpoint>(std::move(*socket_), table_.addresses);
  } else {
    setup.endpoint = share_->take_endpoint();
    for (std::string& name : setup.site_names) {
      name += " (through rank " + std::to_string(group->ranks.first) + ")";
    }
    if (leads) lead(*group);
  }
  socket_.reset();
  if (!is_one_host() && (group == nullptr || leads)) {
    setup.paths.interface = route_.local.host_text();
    if (!route_.interface.empty()) setup.paths.interface += " (" + route_.interface + ")";
  }
  for (const control::HostGroup& each : groups) setup.paths.ranks_in_memory += each.ranks.count;
  // Hosts count once, also below racks.
  const plan::Tree network = control::tree_of(terms(), true);
  setup.paths.parties_on_network =
      is_one_host() ? 0 : static_cast<std::uint32_t>(network.aggregators.front().children.size());
  return {};
}

// What has sites of ranks has no groups, or no use for sites.
void JobSession::serve_site() {
  if (std::exchange(site_is_served_, true)) return;
  control::JobTerms flat = terms();
  flat.groups.clear();
  flat.racks.clear();
  const core::AggregatorOptions options = control::aggregator_options(flat);
  CHECK(shard_->add_job(options, flat.small_slots,
                        {{}, site::worker_sources(flat, options)}));  // only
}

// From here on the worker's driver serves this rank's site.
std::unique_ptr<io::Endpoint> JobSession::summing_endpoint() {
  const std::uint8_t own = *table_.own;
  const plan::Tree& site = table_.plan.trees[own];
  std::unique_ptr<site::AggregationSite> aggregators = shard_->take_site();
  aggregators->adopt(site.job, plan::position_of(site, table_.rank).worker);
  shard_.reset();
  return std::make_unique<SummingEndpoint>(
      std::make_unique<io::UdpEndpoint>(std::move(*socket_), table_.addresses),
      std::move(aggregators), io::Peer{own});
}

Result<void> JobSession::all_ready(const control::ReadyReport& report) {
  std::vector<std::future<control::Answer<void>>> answers;
  unanswered_ = links_.size();
  for (Link& each : links_) {
    answers.push_back(std::async(std::launch::async, [this, &link = *each.link, &report] {
      return or_stop(link.ready(report));
    }));
  }
  for (std::future<control::Answer<void>>& answer : answers) {
    const control::Answer<void> each = answer.get();
    if (!each) keep_reason(each.error());
  }
  if (why_) return tl::unexpected(error_of(*why_));
  for (const Link& each : links_) {
    if (each.link->terms().groups == terms().groups) continue;
    return tl::unexpected(unavailable("the switches disagree about which ranks share a host"));
  }
  return {};
}

void JobSession::watch(const Listener& listener) {
  for (Link& each : links_) {
    const std::string name = host_names()[static_cast<std::size_t>(&each - links_.data())];
    each.link->watch([this, listener, name, site = each.first_site](const control::JobEnd& end) {
      log_end(end, name);
      if (end.abort) {
        listener.on_end(*end.abort);
      } else if (end.lost_rank) {
        listener.on_rank_lost(*end.lost_rank);
      } else {
        listener.on_site_lost(site, end.lost_switch);
      }
    });
  }
}

// As the job's connections tell it. Why calls fail for other reasons, their errors say.
void JobSession::log_end(const control::JobEnd& end, const std::string& host) {
  using status::LogLevel;
  const std::string& job = options_.job;
  const int rank = options_.rank;
  if (end.abort) {
    io::log(LogLevel::info, "job_ended",
            {{"job", job}, {"rank", rank}, {"by_rank", end.abort->rank}});
  } else if (end.lost_rank) {
    io::log(LogLevel::warn, "rank_lost", {{"job", job}, {"rank", rank}, {"lost", *end.lost_rank}});
  } else {
    log_switch_lost(end.lost_switch.empty() ? host : end.lost_switch);
  }
}

void JobSession::note_site_lost(std::uint8_t site) {
  const auto next = std::find_if(links_.begin(), links_.end(),
                                 [site](const Link& link) { return link.first_site > site; });
  const auto link = std::max<std::ptrdiff_t>(next - links_.begin(), 1) - 1;
  log_switch_lost(host_names()[static_cast<std::size_t>(link)]);
}

// Once, whoever tells of it first.
void JobSession::log_switch_lost(const std::string& address) {
  if (loss_is_logged_.exchange(true)) return;
  io::log(status::LogLevel::warn, "switch_lost",
          {{"job", options_.job},
           {"rank", options_.rank},
           {"switch", address},
           {"rejoins", options_.rejoin}});
}

}  // namespace infold::rank
