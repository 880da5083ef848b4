// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/tls/channel.h"

#include <grpc/support/log.h>

#include "io/host/log.h"

namespace infold::p4 {
namespace {

// Programs, and the entries of all tables, can exceed gRPC's limit of 4 MB.
constexpr int kMessageBytesMax = 64 << 20;

grpc::ChannelArguments arguments(const DeviceOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  if (options.tls && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  }
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> encrypted(const DeviceTls& tls) {
  return grpc::SslCredentials({tls.authorities, tls.key, tls.certificate});
}

// gRPC writes to stderr in a form of its own, and with bytes from the network as they came. Its
// lines go to the log of this process, which escapes them and limits their number.
void log_line(gpr_log_func_args* line) {
  io::log(status::LogLevel::debug, "p4_grpc", {{"error", line->message}});
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const DeviceOptions& options) {
  gpr_set_log_function(log_line);
  return grpc::CreateCustomChannel(
      options.address, options.tls ? encrypted(*options.tls) : grpc::InsecureChannelCredentials(),
      arguments(options));
}

}  // namespace infold::p4
