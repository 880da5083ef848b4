// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/tls/channel.h"

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

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const DeviceOptions& options) {
  return grpc::CreateCustomChannel(
      options.address, options.tls ? encrypted(*options.tls) : grpc::InsecureChannelCredentials(),
      arguments(options));
}

}  // namespace infold::p4
