// SPDX-License-Identifier: Apache-2.0
//
// Tests infold switch with options that do not go together. Its message must name them before it
// opens a socket or attaches a program.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"
#include "cli/commands.h"
#include "cli/switch/switch_testing.h"

namespace infold::cli {
namespace {

using testing::HasSubstr;

TEST(SwitchCommand, RefusesOptionsThatDoNotGoWithThePlane) {
  const std::vector<Refusal> refusals = {
      {{"--dev", "eth0"}, "--dev: needs --plane xdp"},
      {{"--pin"}, "--pin: needs --plane xdp"},
      {{"--plane", "fpga"}, "--plane"},
      {{"--metrics", "7790"}, "--metrics: '7790'"},
      {{"--plane", "xdp", "--listen", "10.0.0.1:7700"}, "--dev: --plane xdp needs the names"},
      {{"--plane", "xdp", "--dev", ","}, "--dev: --plane xdp needs the names"},
      {{"--plane", "xdp", "--dev", "a,b,a", "--listen", "10.0.0.1:7700"}, "--dev: an interface"},
      {{"--plane", "xdp", "--dev", "eth0"}, "--listen: --plane xdp needs one address"},
      {{"--plane", "xdp", "--dev", "eth0", "--listen", ":7700"}, "--listen: --plane xdp"},
      {{"--plane", "xdp", "--dev", "eth0", "--listen", "10.0.0.1:0"}, "--listen: --plane xdp"},
      {{"--plane", "xdp", "--dev", "eth0", "--listen", "10.0.0.1:7700", "--threads", "2"},
       "--threads: --plane xdp has no threads"},
      {{"--plane", "xdp", "--dev", "eth0", "--listen", "10.0.0.1:7700", "--no-offload"},
       "--no-offload: --plane xdp"},
      {{"--ports", "1"}, "--ports: needs --plane p4"},
      {{"--plane", "xdp", "--p4runtime", "127.0.0.1:9559"}, "--p4runtime: needs --plane p4"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--dev", "eth0"}, "--dev: needs --plane xdp"},
      {{"--plane", "p4"}, "--listen: --plane p4 needs one address"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--threads", "2"},
       "--threads: --plane p4 has no threads; the device sums"},
      {{"--target", "tofino"}, "--target: needs --plane p4"},
      {{"--p4-ca", "a"}, "--p4-ca: needs --plane p4"},
      {{"--plane", "p4", "--target", "tofino2"}, "--target"},
#ifdef INFOLD_P4
      {{"--plane", "p4", "--listen", "10.0.0.1:7700"}, "--p4runtime: --plane p4 needs"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1"},
       "--program: --plane"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b"},
       "--ports: --plane p4 needs"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b", "--ports", "1,x"},
       "--ports: 'x' is not a port of --target bmv2; allowed: 0 to 509"},
      {{"--plane", "p4", "--target", "tofino", "--listen", "10.0.0.1:7700", "--p4runtime",
        "127.0.0.1:1", "--program", "b", "--ports", "1,128,68"},
       "--ports: '68' is not a port of --target tofino; allowed: 0 to 67, 128 to 195, 256 to 323, "
       "384 to 451"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b", "--ports", "1", "--p4-ca", "a", "--p4-key", "k"},
       "--p4-key: needs --p4-cert"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b", "--ports", "1", "--p4-cert", "c", "--p4-key", "k"},
       "--p4-cert: needs --p4-ca"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b", "--ports", "1,1"},
       "--ports: a port is named twice"},
      {{"--plane", "p4", "--listen", "[::1]:7700", "--p4runtime", "127.0.0.1:1", "--program", "b",
        "--ports", "1"},
       "--listen: --plane p4 sums packets of IPv4"},
      {{"--plane", "p4", "--listen", "10.0.0.1:7700", "--p4runtime", "127.0.0.1:1", "--program",
        "b", "--ports", "1", "--parent", "10.0.0.9:7700"},
       "--parent: a P4 pipeline sends no sums up"},
#endif
  };
  expect_refused([] { return make_switch_command(); }, refusals);
}

#ifdef INFOLD_P4
TEST(SwitchCommand, NamesTheFileOfTlsThatItCannotUse) {
  const base::TempFolder folder;
  const std::string pem = folder.file("pem"), other = folder.file("other");
  std::ofstream(pem) << "-----BEGIN CERTIFICATE-----\n";
  std::ofstream(other) << "a certificate in another form";
  const std::string absent = folder.file("absent");
  const auto log_of = [](const std::string& ca, const std::string& cert, const std::string& key) {
    const Outcome outcome =
        start_switch(make_switch_command(),
                     {"--plane", "p4", "--listen", "127.0.0.1:7700", "--p4runtime", "127.0.0.1:1",
                      "--program", "infold-none", "--ports", "1", "--p4-ca", ca.c_str(),
                      "--p4-cert", cert.c_str(), "--p4-key", key.c_str()});
    EXPECT_EQ(outcome.code, ExitCode::kFailed);
    return outcome.log;
  };
  EXPECT_THAT(log_of(absent, pem, pem), HasSubstr("--p4-ca " + absent + ": "));
  EXPECT_THAT(log_of(pem, other, pem), HasSubstr("--p4-cert " + other + ": it is not in PEM form"));
  EXPECT_THAT(log_of(pem, pem, other), HasSubstr("--p4-key " + other + ": it is not in PEM form"));
  EXPECT_THAT(log_of(pem, pem, pem), HasSubstr("--program infold-none"));
}
#endif

TEST(SwitchCommand, TakesThePlaneFromAFile) {
  const base::TempFolder folder;
  const std::string path = folder.file("switch.toml");
  std::ofstream(path) << "plane = \"xdp\"\ndev = \"infold-none\"\nlisten = \"127.0.0.1:7700\"\n"
                      << "pin = true\n";
  const Outcome outcome = start_switch(make_switch_command(), {"--config", path.c_str()});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
#ifdef INFOLD_XDP
  EXPECT_THAT(outcome.log, HasSubstr("--dev: there is no interface 'infold-none'; 'ip link'"));
#else
  EXPECT_THAT(outcome.log, HasSubstr("no packet program"));
#endif
}

}  // namespace
}  // namespace infold::cli
