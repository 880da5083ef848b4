// SPDX-License-Identifier: Apache-2.0
//
// The server's end of one rank's stream. It passes the rank's messages to a registrar, and sends
// the answers. It has no thread and never waits for a rank: at most three messages go to a rank,
// and a rank that does not take one in time is cut off.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "base/instant.h"
#include "base/mutex.h"
#include "io/address/socket_address.h"
#include "join/alarm.h"
#include "join/rank_listener.h"
#include "join/service/acceptor.h"
#include "join/service/stream_gate.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

struct StreamTimes {
  base::Duration hello_max = base::seconds(10);   // from the stream's opening
  base::Duration write_max = base::seconds(5);    // until a message is on its way
  base::Duration goodbye_max = base::seconds(5);  // for the rank to take the stream's end
};

// Shared by all streams of a server. It outlives the streams, but not the calls of their listeners.
struct StreamHost {
  Registrar& registrar;
  Acceptor& acceptor;
  StreamGate gate;
  StreamTimes times;
  EventListener on_event;  // hears of refusals that no registrar makes
};

class RankStream final : public grpc::ServerBidiReactor<v1::JoinRequest, v1::JoinReply>,
                         public RankListener,
                         public std::enable_shared_from_this<RankStream> {
 public:
  // The stream owns itself until it is done.
  static RankStream* open(grpc::CallbackServerContext& context, StreamHost& host);

  void all_here(const JobTerms& terms) override;
  void all_ready(const std::vector<HostGroup>& groups) override;
  void refused(const Refusal& refusal) override;
  void ended(const JobEnd& end) override;
  void dismissed() override;

 private:
  RankStream(grpc::CallbackServerContext& context, StreamHost& host);
  void start(const std::shared_ptr<RankStream>& self);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  Answer<void> handle(const v1::JoinRequest& request);
  Answer<void> handle_hello(const v1::Hello& hello);
  void part(const Parting& parting);
  Parting broken_off();
  void send(v1::JoinReply reply, bool is_last);
  void pump() REQUIRES(mutex_);
  void finish_soon() REQUIRES(mutex_);
  void set_alarm(Alarm& alarm, base::Duration in, void (RankStream::*ring)()) REQUIRES(mutex_);
  void give_up_on_hello();
  void cut();

  const io::SocketAddress from_;  // unset: not known
  const std::string address_;

  // gRPC orders its calls, which use these two without the lock. Other threads use host_ with the
  // lock while context_ is not null, because the host may be gone when the stream is done.
  StreamHost& host_;
  v1::JoinRequest request_;

  // gRPC orders its calls, but ThreadSanitizer does not see that. The calls therefore use all of
  // the following with the lock.
  base::Mutex mutex_;
  grpc::CallbackServerContext* context_ GUARDED_BY(mutex_);  // null when the stream is done
  std::shared_ptr<RankStream> self_ GUARDED_BY(mutex_);
  v1::JoinReply reply_ GUARDED_BY(mutex_);
  std::deque<v1::JoinReply> replies_ GUARDED_BY(mutex_);
  Alarm hello_alarm_ GUARDED_BY(mutex_);
  Alarm write_alarm_ GUARDED_BY(mutex_);
  Alarm goodbye_alarm_ GUARDED_BY(mutex_);
  std::optional<Registrar::Entry> entry_ GUARDED_BY(mutex_);
  std::optional<Parting> parting_ GUARDED_BY(mutex_);
  bool is_counted_ GUARDED_BY(mutex_) = false;
  bool said_hello_ GUARDED_BY(mutex_) = false;
  bool through_rack_ GUARDED_BY(mutex_) = false;
  bool writes_ GUARDED_BY(mutex_) = false;
  bool wants_finish_ GUARDED_BY(mutex_) = false;
  bool finishes_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::join
