// SPDX-License-Identifier: Apache-2.0
#include "join/service/join_server.h"

#include <algorithm>
#include <string>
#include <utility>

#include "io/host/clock.h"
#include "io/host/descriptors.h"
#include "join/connection/connection_loop.h"
#include "join/connection/tls_conversation.h"
#include "join/service/door/front_door.h"

namespace infold::join {
namespace {

constexpr auto kGoodbye = base::milliseconds(500);
// The door's and the loop's thread, and at most four of the registrar: those of a rack's relay.
constexpr std::uint32_t kThreads = 6;
// The most that a connection holds beside the replies that wait for it: two buffers of one request
// each, a message that is being read, and its state.
constexpr std::size_t kConnectionBytes = 16 << 10;

// As many as wanted, where the process may have the descriptors, and within what TLS allows; else
// fewer in the same proportion, so that no address can hold all.
ServerOptions within_bounds(ServerOptions options) {
  ConnectionLimits& limits = options.limits;
  const std::uint32_t wanted = options.identity
                                   ? std::min(limits.connections_max, kTlsConnectionsMax)
                                   : limits.connections_max;
  const std::uint32_t room = connections_within(io::descriptor_limits().now, wanted);
  const std::uint64_t share = std::uint64_t{limits.connections_of_address_max} * room;
  limits.connections_of_address_max =
      std::clamp(static_cast<std::uint32_t>(share / limits.connections_max), 1U, room);
  limits.connections_max = room;
  return options;
}

TlsConversation::FaultListener fault_listener(const EventListener& on_event, std::string address) {
  return [&on_event, address = std::move(address)](const TlsSession& session) {
    on_event(event_of_address(JoinEvent::refused, address,
                              std::string("a connection with TLS: ") + text_of(session.fault())));
  };
}

}  // namespace

class JoinServer::State {
 public:
  State(Registrar& registrar, const ServerOptions& options)
      : host{registrar, ConnectionGate(options.limits, options.on_event), options.times,
             options.on_event, options.tokens} {}

  ConversationHost host;
  io::SocketAddress address;
  bool uses_tls = false;
  std::unique_ptr<FrontDoor> door;
  ConnectionLoop loop;  // ends before the host does
};

std::uint32_t connections_within(std::size_t descriptors, std::uint32_t wanted) {
  const std::size_t room = descriptors - std::min<std::size_t>(descriptors, kDescriptorsKept);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(room, 1, wanted));
}

base::Result<std::unique_ptr<JoinServer>> JoinServer::start(const io::SocketAddress& listen,
                                                            Registrar& registrar,
                                                            ServerOptions options) {
  options = within_bounds(options);
  std::shared_ptr<const TlsContext> tls;
  if (options.identity) {
    auto made = TlsContext::of_switch(*options.identity);
    if (!made) return tl::unexpected(made.error());
    tls = std::move(*made);
  }
  auto state = std::make_unique<State>(registrar, options);
  state->uses_tls = tls != nullptr;
  auto door = FrontDoor::listen(listen, state->host.gate, options.times.silence_max, tls);
  if (!door) return tl::unexpected(door.error());
  state->door = std::move(*door);
  state->address = listen;
  state->address.set_port(state->door->address().port());
  const auto take = [&host = state->host, &loop = state->loop](Arrival arrival) {
    auto conversation = std::make_shared<RankConversation>(arrival, host);
    if (!arrival.tls) return loop.add(std::move(arrival.socket), std::move(conversation));
    loop.add(std::move(arrival.socket),
             std::make_shared<TlsConversation>(std::move(arrival.tls), std::move(conversation),
                                               fault_listener(host.on_event, arrival.address)));
  };
  state->door->start({take, options.on_event});
  return std::unique_ptr<JoinServer>(new JoinServer(std::move(state)));
}

JoinServer::JoinServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

JoinServer::~JoinServer() {
  state_->door->stop();
  state_->host.registrar.stop();
  state_->loop.is_empty_by(io::monotonic_now() + kGoodbye);
}

io::SocketAddress JoinServer::address() const { return state_->address; }

JoinServer::Budget JoinServer::budget() const {
  const ConnectionLimits& limits = state_->host.gate.limits();
  const std::size_t tls_bytes = state_->uses_tls
                                    ? TlsSession::kOpenMemory * limits.connections_max +
                                          (TlsSession::kHandshakeMemory - TlsSession::kOpenMemory) *
                                              limits.handshakes_open_max
                                    : 0;
  return {limits.connections_max, kThreads,
          kConnectionBytes * limits.connections_max + limits.reply_bytes_max + tls_bytes};
}

}  // namespace infold::join
