// SPDX-License-Identifier: Apache-2.0
//
// Tests the connection to a device whose P4Runtime server has a certificate.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "io/host/log.h"
#include "planes/p4/device.h"
#include "planes/p4/fake_device_testing.h"
#include "planes/p4/tls/certificates_testing.h"

namespace infold::p4 {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<grpc::ServerCredentials> credentials(bool asks_for_certificate = false) {
  grpc::SslServerCredentialsOptions options(
      asks_for_certificate ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                           : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = kAuthority;
  options.pem_key_cert_pairs = {{kServerKey, kServerCertificate}};
  return grpc::SslServerCredentials(options);
}

// Returns why there is no connection, or an empty text.
std::string refusal_of(const std::string& address, const std::optional<DeviceTls>& tls) {
  DeviceOptions options;
  options.address = address;
  options.tls = tls;
  options.patience = std::chrono::seconds(5);
  const auto device = Device::connect(options);
  return device ? "" : device.error();
}

TEST(P4DeviceTls, AControllerThatTrustsTheServerProgramsTheDevice) {
  FakeDevice server(TargetKind::bmv2, credentials());
  DeviceOptions options;
  options.address = server.address();
  options.tls = DeviceTls{.authorities = kAuthority};
  const auto device = Device::connect(options);
  ASSERT_TRUE(device.has_value()) << device.error();
  const auto loaded = (*device)->load(test_program(TargetKind::bmv2));
  EXPECT_TRUE(loaded.has_value()) << loaded.error();
}

TEST(P4DeviceTls, TheServersNameMayBeAnotherThanItsAddress) {
  FakeDevice server(TargetKind::bmv2, credentials());
  DeviceTls tls = {.authorities = kAuthority, .server_name = "switch.test"};
  EXPECT_EQ(refusal_of(server.address(), tls), "");
  tls.server_name = "127.0.0.1";
  EXPECT_EQ(refusal_of(server.address(), tls), "");
  tls.server_name = "127.0.0.2";
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("no P4Runtime server answers: "));
  tls.server_name = "elsewhere.test";
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("no P4Runtime server answers: "));
}

TEST(P4DeviceTls, AServerThatNobodyTrustedHasSignedIsRefused) {
  FakeDevice server(TargetKind::bmv2, credentials());
  EXPECT_THAT(refusal_of(server.address(), DeviceTls{.authorities = kOtherAuthority}),
              HasSubstr("no P4Runtime server answers: "));
}

TEST(P4DeviceTls, WhatGrpcSaysOfAHandshakeGoesToTheLog) {
  FakeDevice server(TargetKind::bmv2, credentials());
  const DeviceTls tls = {.authorities = kOtherAuthority};
  testing::internal::CaptureStderr();
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("certificate verify failed"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the log has warnings and errors";
  io::process_log().set({.level = status::LogLevel::debug});
  testing::internal::CaptureStderr();
  EXPECT_NE(refusal_of(server.address(), tls), "");
  io::process_log().set({});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("debug p4_grpc error=\"Handshake"));
}

TEST(P4DeviceTls, TextsThatAreNoCertificatesAreRefused) {
  FakeDevice server(TargetKind::bmv2, credentials());
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  DeviceTls tls = {.authorities = broken};
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("the P4 device at"));
  tls = {.authorities = kAuthority, .certificate = broken, .key = kClientKey};
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("the P4 device at"));
  tls = {.authorities = kAuthority, .certificate = kClientCertificate, .key = broken};
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("the P4 device at"));
}

TEST(P4DeviceTls, BothSidesEncryptOrNeither) {
  FakeDevice encrypted(TargetKind::bmv2, credentials());
  FakeDevice plain(TargetKind::bmv2);
  EXPECT_THAT(refusal_of(encrypted.address(), {}), HasSubstr("the P4 device at"));
  EXPECT_THAT(refusal_of(plain.address(), DeviceTls{.authorities = kAuthority}),
              HasSubstr("no P4Runtime server answers: "));
}

TEST(P4DeviceTls, AServerMayAskForTheControllersCertificate) {
  FakeDevice server(TargetKind::bmv2, credentials(true));
  DeviceTls tls = {.authorities = kAuthority};
  EXPECT_THAT(refusal_of(server.address(), tls), HasSubstr("the P4 device at"));
  tls.certificate = kClientCertificate;
  tls.key = kClientKey;
  EXPECT_EQ(refusal_of(server.address(), tls), "");
}

}  // namespace
}  // namespace infold::p4
