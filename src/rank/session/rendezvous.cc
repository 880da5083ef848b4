// SPDX-License-Identifier: Apache-2.0
#include "rank/session/rendezvous.h"

#include <utility>

#include "rank/session/join_error.h"

namespace infold::rank {

Result<std::unique_ptr<Rendezvous>> Rendezvous::open(const std::string& name,
                                                     const io::SocketAddress& at,
                                                     const keys::RendezvousKeys* keys) {
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous);
  join::ServerOptions options;
  if (keys != nullptr) {
    options.identity = keys->identity;
    options.tokens = join::TokenCheck(std::make_shared<keys::LiveKeyring>(keys->keyring));
  }
  auto server = join::JoinServer::start(at, rendezvous->registry_, options);
  if (!server) {
    return tl::unexpected(unavailable("JoinOptions.rendezvous: rank 0 cannot listen at " + name +
                                      ": " + server.error().detail));
  }
  rendezvous->server_ = std::move(*server);
  return rendezvous;
}

}  // namespace infold::rank
