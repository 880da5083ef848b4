// SPDX-License-Identifier: Apache-2.0
#include "join/service/join_server.h"

#include <algorithm>
#include <utility>

#include "io/host/clock.h"
#include "io/host/descriptors.h"
#include "join/connection/connection_loop.h"
#include "join/service/door/front_door.h"

namespace infold::join {
namespace {

constexpr auto kGoodbye = base::milliseconds(500);
// The door's and the loop's thread, and at most four of the registrar: those of a rack's relay.
constexpr std::uint32_t kThreads = 6;
// The most that a connection holds beside the replies that wait for it: two buffers of one request
// each, a message that is being read, and its state.
constexpr std::size_t kConnectionBytes = 16 << 10;

// As many as wanted, where the process may have the descriptors; else fewer in the same proportion,
// so that no address can hold all.
ServerOptions within_descriptors(ServerOptions options) {
  ConnectionLimits& limits = options.limits;
  const std::uint32_t room =
      connections_within(io::descriptor_limits().now, limits.connections_max);
  const std::uint64_t share = std::uint64_t{limits.connections_of_address_max} * room;
  limits.connections_of_address_max =
      std::clamp(static_cast<std::uint32_t>(share / limits.connections_max), 1U, room);
  limits.connections_max = room;
  return options;
}

}  // namespace

class JoinServer::State {
 public:
  State(Registrar& registrar, const ServerOptions& options)
      : host{registrar, ConnectionGate(options.limits, options.on_event), options.times,
             options.on_event} {}

  ConversationHost host;
  io::SocketAddress address;
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
  options = within_descriptors(options);
  auto state = std::make_unique<State>(registrar, options);
  auto door = FrontDoor::listen(listen, state->host.gate, options.times.silence_max);
  if (!door) return tl::unexpected(door.error());
  state->door = std::move(*door);
  state->address = listen;
  state->address.set_port(state->door->address().port());
  const auto take = [&host = state->host, &loop = state->loop](Arrival arrival) {
    auto conversation = std::make_shared<RankConversation>(arrival, host);
    loop.add(std::move(arrival.socket), std::move(conversation));
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
  return {limits.connections_max, kThreads,
          kConnectionBytes * limits.connections_max + limits.reply_bytes_max};
}

}  // namespace infold::join
