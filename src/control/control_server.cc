// SPDX-License-Identifier: Apache-2.0
//
// One thread per rank's stream, which is gRPC's own; the registrar does the waiting.
#include "control/control_server.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "control/end_message.h"
#include "control/refusal_message.h"
#include "io/listen.h"
#include "proto/infold/v1/control.grpc.pb.h"

namespace infold::control {
namespace {

using Stream = grpc::ServerReaderWriter<v1::JoinReply, v1::JoinRequest>;

constexpr auto kPatienceMax = std::chrono::hours(24);
constexpr auto kGoodbye = std::chrono::milliseconds(500);

v1::JoinReply refusal_reply(const Refusal& refusal) {
  v1::JoinReply reply;
  *reply.mutable_refused() = refused_of(refusal);
  return reply;
}

template <typename Message>
void add_groups(const JobTerms& terms, Message& message) {
  for (const HostGroup& group : terms.groups) {
    v1::HostGroup& each = *message.add_groups();
    each.set_first(group.ranks.first);
    each.set_count(group.ranks.count);
    each.set_meeting(group.meeting);
  }
}

v1::JoinReply terms_reply(const JobTerms& terms) {
  v1::JoinReply reply;
  v1::Joined& joined = *reply.mutable_joined();
  joined.set_job(terms.job);
  joined.set_epoch(terms.epoch);
  joined.set_datagram_bytes_max(terms.datagram_bytes_max);
  joined.set_elements_max(terms.elements_max);
  joined.set_small_slots(terms.small_slots);
  joined.set_bulk_slots(terms.bulk_slots);
  for (const SiteAddress& site : terms.sites) {
    v1::Site& each = *joined.add_sites();
    each.set_address(site.address);
    each.set_weight(site.weight);
    each.set_at_rank(site.at_rank);
    each.set_takes_sparse(site.takes_sparse);
  }
  add_groups(terms, joined);
  for (const core::RankRange rack : terms.racks) {
    v1::Rack& each = *joined.add_racks();
    each.set_first(rack.first);
    each.set_count(rack.count);
  }
  joined.set_parent(terms.parent);
  return reply;
}

RankWords words_of(const v1::Hello& hello) {
  RankWords words;
  words.job = hello.job();
  words.rank = hello.rank();
  words.world = hello.world();
  words.datagram_bytes_max = hello.datagram_bytes_max();
  words.small_slots = hello.small_slots();
  words.bulk_slots = hello.bulk_slots();
  if (!hello.site_address().empty()) {
    words.site = SiteAddress{hello.site_address(), hello.site_weight(), true};
  }
  if (!hello.host_identity().empty()) {
    words.host = RankHost{hello.host_identity(), hello.host_meeting()};
  }
  words.always_shares = hello.always_shares();
  if (hello.element_bytes() != 0) words.element_bytes = hello.element_bytes();
  words.patience = std::min<std::chrono::milliseconds>(
      std::chrono::milliseconds(hello.patience_ms()), kPatienceMax);
  if (hello.has_rack()) {
    const v1::RackSwitch& rack = hello.rack();
    words.rack = RackWords{rack.identity(), rack.address(), rack.sites(), rack.elements_max()};
  }
  return words;
}

ReadyWords words_of(const v1::Ready& ready) {
  ReadyWords words;
  words.shares_memory = ready.shares_memory();
  words.site_order = ready.site_order();
  if (ready.has_verifies()) words.verifies = ready.verifies();
  words.calls_finished = ready.calls_finished();
  words.calls_beyond = ready.calls_beyond();
  if (ready.has_obstacle()) words.obstacle = refusal_of(ready.obstacle());
  return words;
}

// A stream that its own thread and the one that ends the job both write to.
class Writer {
 public:
  explicit Writer(Stream& stream) : stream_(&stream) {}
  void write(const v1::JoinReply& reply) {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->Write(reply);
  }
  // Written at once, but not before the answer to a rank that is ready.
  void write_end(const JobEnd& end) {
    v1::JoinReply reply;
    *reply.mutable_ended() = ended_of(end);
    const std::lock_guard lock(mutex_);
    if (keeps_end_) {
      end_ = std::move(reply);
    } else if (stream_ != nullptr) {
      stream_->Write(reply);
    }
  }
  void keep_end() {
    const std::lock_guard lock(mutex_);
    keeps_end_ = true;
  }
  void write_answer(const v1::JoinReply& answer) {
    const std::lock_guard lock(mutex_);
    stream_->Write(answer);
    keeps_end_ = false;
    if (end_) stream_->Write(*end_);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Stream* stream_;
  bool keeps_end_ = false;
  std::optional<v1::JoinReply> end_;
};

class Service final : public v1::Control::Service {
 public:
  explicit Service(Registrar& registrar) : registrar_(registrar) {}

  grpc::Status Join(grpc::ServerContext*, Stream* stream) override {
    stream->SendInitialMetadata();  // shows the rank that somebody is here
    const auto writer = std::make_shared<Writer>(*stream);
    serve(*stream, writer);
    writer->close();
    return grpc::Status::OK;
  }

 private:
  void serve(Stream& stream, const std::shared_ptr<Writer>& writer) {
    v1::JoinRequest request;
    if (!stream.Read(&request) || !request.has_hello()) return;
    const v1::Hello hello = request.hello();
    if (hello.protocol_version() != kProtocolVersion) {
      writer->write(refusal_reply(
          {RefusalReason::invalid, "the switch speaks another version of the protocol: " +
                                       std::to_string(kProtocolVersion)}));
      return;
    }
    const Answer<Registrar::Seat> seat =
        registrar_.enter(words_of(hello), [writer](const JobEnd& end) { writer->write_end(end); });
    if (!seat) {
      writer->write(refusal_reply(seat.error()));
      return;
    }
    const Parting parting = attend(stream, *writer, *seat, hello.has_rack());
    registrar_.leave(*seat, parting);
    if (parting.way == Parting::in_order) registrar_.linger(*seat);
  }

  // From the terms to the end.
  Parting attend(Stream& stream, Writer& writer, const Registrar::Seat& seat, bool through_rack) {
    writer.write(terms_reply(registrar_.terms(seat)));
    v1::JoinRequest request;
    if (!stream.Read(&request) || !request.has_ready()) return parting_of(request, through_rack);
    writer.keep_end();
    if (const Answer<void> ready = registrar_.ready(seat, words_of(request.ready())); !ready) {
      writer.write_answer(refusal_reply(ready.error()));
      return Parting::lost;
    }
    v1::JoinReply go;
    add_groups(registrar_.terms(seat), *go.mutable_go());
    writer.write_answer(go);
    request.Clear();
    stream.Read(&request);
    return parting_of(request, through_rack);
  }

  // By what was said last, if anything was. A rack's switch that lives says what its rank does.
  static Parting parting_of(const v1::JoinRequest& last, bool through_rack) {
    if (last.has_leave()) return {Parting::in_order, abort_of(last.leave())};
    return through_rack && !last.has_lost() ? Parting::with_switch : Parting::lost;
  }

  Registrar& registrar_;
};

}  // namespace

class ControlServer::State {
 public:
  explicit State(Registrar& jobs) : registrar(jobs), service(jobs) {}

  Registrar& registrar;
  Service service;
  io::SocketAddress address;
  std::unique_ptr<grpc::Server> server;
};

base::Result<std::unique_ptr<ControlServer>> ControlServer::start(const io::SocketAddress& listen,
                                                                  Registrar& registrar) {
  // Before gRPC, which would print its own account of a failure.
  if (const auto free = io::check_listen(listen, "control"); !free) {
    return tl::unexpected(free.error());
  }
  auto state = std::make_unique<State>(registrar);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddListeningPort(listen.text(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  if (!state->server || port == 0) {
    return base::fail(base::Code::unavailable, "control", "cannot listen on the control address");
  }
  state->address = listen;
  state->address.set_port(static_cast<std::uint16_t>(port));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() {
  state_->registrar.stop();
  state_->server->Shutdown(std::chrono::system_clock::now() + kGoodbye);
}

io::SocketAddress ControlServer::address() const { return state_->address; }

}  // namespace infold::control
