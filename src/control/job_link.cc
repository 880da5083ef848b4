// SPDX-License-Identifier: Apache-2.0
//
// The rank's end of a stream.
#include "control/job_link.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "control/end_message.h"
#include "control/refusal_message.h"
#include "proto/infold/v1/control.grpc.pb.h"

namespace infold::control {
namespace {

using Stream = grpc::ClientReaderWriter<v1::JoinRequest, v1::JoinReply>;

// Longer than the other side lingers for ranks that still need us.
constexpr auto kGoodbye = std::chrono::milliseconds(2500);
// How often it looks whether joining was given up.
constexpr auto kLook = std::chrono::milliseconds(100);

std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // In spite of its name how long an attempt may take, handshake included: long on a busy host.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Each communicator has a connection of its own: the end of one is the end of one rank.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

v1::JoinRequest hello_of(const RankWords& words) {
  v1::JoinRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_protocol_version(kProtocolVersion);
  hello.set_job(words.job);
  hello.set_rank(words.rank);
  hello.set_world(words.world);
  hello.set_datagram_bytes_max(words.datagram_bytes_max);
  hello.set_small_slots(words.small_slots);
  hello.set_bulk_slots(words.bulk_slots);
  if (words.site) {
    hello.set_site_address(words.site->address);
    hello.set_site_weight(words.site->weight);
  }
  if (words.host) {
    hello.set_host_identity(words.host->identity);
    hello.set_host_meeting(words.host->meeting);
  }
  hello.set_element_bytes(words.element_bytes);
  hello.set_always_shares(words.always_shares);
  hello.set_patience_ms(static_cast<std::uint32_t>(words.patience.count()));
  if (words.rack) {
    v1::RackSwitch& rack = *hello.mutable_rack();
    rack.set_identity(words.rack->identity);
    rack.set_address(words.rack->address);
    rack.set_sites(words.rack->sites);
    rack.set_elements_max(words.rack->elements_max);
  }
  return request;
}

// Whatever the other side says: ranks of this job, each in one group at most, in rising order.
template <typename Message>
std::vector<HostGroup> groups_of(const Message& message, std::uint32_t world) {
  std::vector<HostGroup> groups;
  std::uint32_t next = 0;
  for (const v1::HostGroup& each : message.groups()) {
    const bool fits = each.first() >= next && each.first() < world && each.count() >= 2 &&
                      each.count() <= world - each.first();
    if (!fits) return {};
    next = each.first() + each.count();
    groups.push_back(
        {{static_cast<std::uint16_t>(each.first()), static_cast<std::uint16_t>(each.count())},
         each.meeting()});
  }
  return groups;
}

// Whatever the other side says: ranks of this job, in rising order.
std::vector<core::RankRange> racks_of(const v1::Joined& joined, std::uint32_t world) {
  std::vector<core::RankRange> racks;
  std::uint32_t next = 0;
  for (const v1::Rack& each : joined.racks()) {
    const bool fits = each.first() >= next && each.first() < world && each.count() >= 1 &&
                      each.count() <= world - each.first();
    if (!fits) return {};
    next = each.first() + each.count();
    racks.push_back(
        {static_cast<std::uint16_t>(each.first()), static_cast<std::uint16_t>(each.count())});
  }
  return racks;
}

JobTerms terms_of(const v1::Joined& joined, std::uint32_t world) {
  JobTerms terms;
  terms.job = static_cast<std::uint16_t>(joined.job());
  terms.epoch = joined.epoch();
  terms.world = world;
  terms.datagram_bytes_max = joined.datagram_bytes_max();
  terms.elements_max = joined.elements_max();
  terms.small_slots = static_cast<std::uint16_t>(joined.small_slots());
  terms.bulk_slots = static_cast<std::uint16_t>(joined.bulk_slots());
  for (const v1::Site& site : joined.sites())
    terms.sites.push_back({site.address(), site.weight(), site.at_rank(), site.takes_sparse()});
  terms.groups = groups_of(joined, world);
  terms.racks = racks_of(joined, world);
  terms.parent = joined.parent();
  return terms;
}

}  // namespace

class JobLink::State {
 public:
  State(std::string address, const Limits& limits)
      : address_(std::move(address)),
        limits_(limits),
        channel_(connect(address_)),
        stub_(v1::Control::NewStub(channel_)),
        on_stop_(std::in_place, limits.stop, [this] { context_.TryCancel(); }) {}

  ~State() { leave({}); }

  Answer<void> join(const RankWords& words) {
    const auto patience = std::min(words.patience, limits_.connect);
    if (!reaches_host(std::chrono::system_clock::now() + patience)) {
      if (limits_.stop.stop_requested()) return given_up();
      return tl::unexpected(Refusal{
          RefusalReason::too_late,
          fmt::format("nobody answers at {}{} for {:.1f} s: is `infold switch` running there, and "
                      "does a firewall let TCP through?",
                      limits_.host, address_, static_cast<double>(patience.count()) / 1000),
          -1});
    }
    stream_ = stub_->Join(&context_);
    stream_->Write(hello_of(words));
    const Answer<v1::JoinReply> reply = read();
    if (!reply) return tl::unexpected(reply.error());
    terms_ = terms_of(reply->joined(), words.world);
    return {};
  }

  Answer<void> ready(const ReadyWords& words) {
    v1::JoinRequest request;
    request.mutable_ready()->set_shares_memory(words.shares_memory);
    request.mutable_ready()->set_site_order(words.site_order);
    if (words.verifies) request.mutable_ready()->set_verifies(*words.verifies);
    request.mutable_ready()->set_calls_finished(words.calls_finished);
    request.mutable_ready()->set_calls_beyond(words.calls_beyond);
    if (words.obstacle) *request.mutable_ready()->mutable_obstacle() = refused_of(*words.obstacle);
    stream_->Write(request);
    const Answer<v1::JoinReply> reply = read();
    if (!reply) return tl::unexpected(reply.error());
    terms_.groups = groups_of(reply->go(), terms_.world);
    return {};
  }

  void watch(EndListener on_end) {
    on_stop_.reset();
    watcher_ = std::thread([this, on_end = std::move(on_end)] {
      v1::JoinReply reply;
      const bool heard = stream_->Read(&reply);
      if (on_end && !leaving_.load()) on_end(heard ? end_of(reply.ended()) : JobEnd{});
      while (stream_->Read(&reply)) {
      }
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    });
  }

  void leave(const std::optional<core::Abort>& abort) {
    v1::JoinRequest request;
    *request.mutable_leave() = leave_of(abort);
    part(request);
  }

  void report_lost() {
    if (!watcher_.joinable()) watch({});  // or it would be cut off before it is heard
    v1::JoinRequest request;
    request.mutable_lost();
    part(request);
  }

  void cut() { context_.TryCancel(); }

  const JobTerms& terms() const { return terms_; }

 private:
  void part(const v1::JoinRequest& last) {
    if (!stream_) return;
    leaving_.store(true);
    stream_->Write(last);
    stream_->WritesDone();
    if (watcher_.joinable()) {
      std::unique_lock lock(mutex_);
      const bool over = changed_.wait_for(lock, kGoodbye, [this] { return over_; });
      lock.unlock();
      if (!over) context_.TryCancel();
      watcher_.join();
    } else {
      context_.TryCancel();
    }
    stream_->Finish();
    stream_.reset();
  }

  // In pieces, because nothing ends gRPC's wait early.
  bool reaches_host(std::chrono::system_clock::time_point end) {
    while (!limits_.stop.stop_requested()) {
      const auto piece = std::min(end, std::chrono::system_clock::now() + kLook);
      if (channel_->WaitForConnected(piece)) return true;
      if (piece == end) return false;
    }
    return false;
  }

  tl::unexpected<Refusal> given_up() const {
    return tl::unexpected(
        Refusal{RefusalReason::given_up, "joining at " + address_ + " was given up", -1});
  }

  Answer<v1::JoinReply> read() {
    v1::JoinReply reply;
    if (!stream_->Read(&reply)) {
      if (limits_.stop.stop_requested()) return given_up();
      const grpc::Status status = stream_->Finish();
      stream_.reset();
      return tl::unexpected(
          Refusal{RefusalReason::stopping,
                  fmt::format("the connection to {}{} broke while joining ({})", limits_.host,
                              address_, status.ok() ? "it was closed" : status.error_message()),
                  -1});
    }
    if (reply.has_refused()) return tl::unexpected(refusal_of(reply.refused()));
    if (reply.has_ended()) return tl::unexpected(ended_early(end_of(reply.ended())));
    return reply;
  }

  Refusal ended_early(const JobEnd& end) const {
    const std::string lost =
        end.lost_rank ? fmt::format("rank {}", *end.lost_rank)
                      : "the switch at " + (end.lost_switch.empty() ? address_ : end.lost_switch);
    return {RefusalReason::too_late, lost + " was lost while joining",
            end.lost_rank ? static_cast<int>(*end.lost_rank) : -1};
  }

  std::string address_;
  Limits limits_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Control::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  JobTerms terms_;
  std::thread watcher_;
  std::atomic<bool> leaving_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;  // while joining
};

JobLink::JobLink(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobLink::~JobLink() = default;

Answer<std::unique_ptr<JobLink>> JobLink::join(const std::string& address, const RankWords& words,
                                               const Limits& limits) {
  auto state = std::make_unique<State>(address, limits);
  const Answer<void> joined = state->join(words);
  if (!joined) return tl::unexpected(joined.error());
  return std::unique_ptr<JobLink>(new JobLink(std::move(state)));
}

const JobTerms& JobLink::terms() const { return state_->terms(); }
Answer<void> JobLink::ready(const ReadyWords& words) { return state_->ready(words); }
void JobLink::watch(EndListener on_end) { state_->watch(std::move(on_end)); }
void JobLink::leave(const std::optional<core::Abort>& abort) { state_->leave(abort); }
void JobLink::report_lost() { state_->report_lost(); }
void JobLink::cut() { state_->cut(); }

}  // namespace infold::control
