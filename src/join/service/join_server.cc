// SPDX-License-Identifier: Apache-2.0
//
// gRPC's own listener stops for good when descriptors run out, and cannot count connections before
// HTTP/2 has cost something. An acceptor of ours therefore hands connections to gRPC.
#include "join/service/join_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include "io/host/descriptors.h"
#include "join/service/parse_request.h"
#include "join/service/rank_stream.h"
#include "proto/infold/v1/control.grpc.pb.h"

namespace infold::join {
namespace {

constexpr auto kGoodbye = std::chrono::milliseconds(500);
// A rack's switch has a stream for each of its ranks, on one connection.
constexpr int kStreamsOfConnection = 2048;
// HTTP/2 buffers this much of a stream before we read it. Requests are short.
constexpr int kLookaheadBytes = 8192;
constexpr int kMetadataBytesMax = 4096;
// gRPC's memory for each connection. Close to the total, gRPC refuses connections and closes idle
// ones.
constexpr std::size_t kConnectionBytes = 96 << 10;

// Allows as many connections as wanted if the process may have the descriptors. Otherwise it lowers
// both limits in the same proportion, so that no address can use up all connections.
ServerOptions within_descriptors(ServerOptions options) {
  const std::uint32_t room =
      connections_within(io::descriptor_limits().now, options.connections_max);
  const std::uint64_t share = std::uint64_t{options.connections_of_address_max} * room;
  options.connections_of_address_max =
      std::clamp(static_cast<std::uint32_t>(share / options.connections_max), 1U, room);
  options.connections_max = room;
  return options;
}

class Service final : public v1::Control::CallbackService {
 public:
  explicit Service(StreamHost& host) { host_.store(&host); }
  grpc::ServerBidiReactor<v1::JoinRequest, v1::JoinReply>* Join(
      grpc::CallbackServerContext* context) override {
    return RankStream::open(*context, *host_.load());
  }

 private:
  // Atomic because ThreadSanitizer does not see gRPC's own synchronisation.
  std::atomic<StreamHost*> host_ = nullptr;
};

void set_limits(grpc::ServerBuilder& builder, const ServerOptions& options) {
  const auto silence_ms = static_cast<int>(options.silence_max.ns / 1'000'000);
  grpc::ResourceQuota quota("infold-join");
  quota.Resize(kConnectionBytes * options.connections_max);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kRequestBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, silence_ms);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, silence_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
}

}  // namespace

class JoinServer::State {
 public:
  State(Registrar& registrar, const ServerOptions& settled, std::unique_ptr<Acceptor> at)
      : options(settled),
        acceptor(std::move(at)),
        host{registrar, *acceptor, StreamGate(settled.streams, settled.on_event),
             StreamTimes{settled.silence_max, settled.write_max}, settled.on_event},
        service(host) {}

  const ServerOptions options;
  const std::unique_ptr<Acceptor> acceptor;
  StreamHost host;
  Service service;
  io::SocketAddress address;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> hand_over;
  std::unique_ptr<grpc::Server> server;
};

std::uint32_t connections_within(std::size_t descriptors, std::uint32_t wanted) {
  const std::size_t room = descriptors - std::min<std::size_t>(descriptors, kDescriptorsKept);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(room, 1, wanted));
}

base::Result<std::unique_ptr<JoinServer>> JoinServer::start(const io::SocketAddress& listen,
                                                            Registrar& registrar,
                                                            ServerOptions options) {
  options = within_descriptors(options);
  auto acceptor = Acceptor::listen(
      listen, {options.connections_max, options.connections_of_address_max, options.silence_max,
               options.bytes_per_second_of_address, options.bytes_at_once_of_address});
  if (!acceptor) return tl::unexpected(acceptor.error());
  auto state = std::make_unique<State>(registrar, options, std::move(*acceptor));
  grpc::ServerBuilder builder;
  set_limits(builder, options);
  state->hand_over = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  if (!state->server) return base::fail(base::Code::unavailable, "join", "gRPC cannot start");
  const auto take = [&to = *state->hand_over](int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    to.HandleNewConnection(&connection);
  };
  const auto turned_away = [tell = options.on_event](const std::string& address,
                                                     const std::string& reason) {
    tell(event_of_address(JoinEvent::limited, address, reason));
  };
  const auto may_connect = [&gate = state->host.gate](const std::string& address) {
    return gate.may_connect(address);
  };
  state->acceptor->start({take, may_connect, turned_away});
  state->address = listen;
  state->address.set_port(state->acceptor->address().port());
  return std::unique_ptr<JoinServer>(new JoinServer(std::move(state)));
}

JoinServer::JoinServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

JoinServer::~JoinServer() {
  state_->acceptor->stop();
  state_->host.registrar.stop();
  state_->server->Shutdown(std::chrono::system_clock::now() + kGoodbye);
}

io::SocketAddress JoinServer::address() const { return state_->address; }

// gRPC runs callbacks on half as many threads as there are processors. Its executor and timers take
// twice as many as there are processors, and a few more. Five threads belong to the acceptor and
// the registrar.
JoinServer::Budget JoinServer::budget() const {
  const std::uint32_t processors = std::max(1U, std::thread::hardware_concurrency());
  return {state_->options.connections_max, 3 * processors + 12,
          kConnectionBytes * state_->options.connections_max};
}

}  // namespace infold::join
